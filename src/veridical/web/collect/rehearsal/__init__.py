"""`veridical collect rehearse`: simulated people do a whole collection before anybody is paid.

    people      workers of varied skill and honesty: experts, careless ones, some who leave, spammers
    world       what is true in the rehearsal: of pictures by chance, of sentences as their writers made them
    answers     what a simulated person says to each kind of task
    run         the clock: people come, work, leave; a requester reviews and ends rounds

They use the very service that pages use, on a database of its own. From outside: `rehearse`.
"""

from veridical.web.collect.rehearsal.run import Rehearsed, rehearse

__all__ = ["Rehearsed", "rehearse"]
