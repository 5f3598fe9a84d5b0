"""Collection: where people write, answer and judge, and what follows from it.

The pure parts, without a database and without HTTP, in reading order:

    records     projects, tasks, workers, leases, answers, reviews, payments
    kinds       what each kind of task shows and takes; an answer checked against its task
    rules       live guideline checks: regular expressions and word lists in `rules/*.json`, read by the page, too
    assigning   the next task for a worker; what is returned, what is removed
    qualifying  what somebody shows before doing tasks, and gold among them
    rounds      twenty sentences of each writer looked at; bonuses, tiers, blocking
    following   what a finished task leads to: sets, writing, validation, extra judgements
    ledger      what everybody is owed, to the tenth of a cent; files for Prolific and MTurk
    progress    how far it is, how fast, what it costs, how people agree

And what joins them:

    store       what a database must offer
    service     everything that workers and requesters do, each in one transaction of a store
"""
