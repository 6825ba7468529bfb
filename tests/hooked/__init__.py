"""An app that no app of ours is: it has every hook, and each raises where asked to."""
