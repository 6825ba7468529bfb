// Sphinx's own scores, with pages for contributors and for look-ups behind the guides.
"use strict";

const BEHIND = /^((ARCHITECTURE|adding-engines|api|index|translations)$|project\/)/;

var Scorer = {
  score: ([page, , , , score]) => (BEHIND.test(page) ? score - 20 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
