"""How the next arm is chosen where pulls differ in cost."""
