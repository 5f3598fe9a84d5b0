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

    store       what a database must offer; `sql_store`, with `sql_people`, `rows` and `tables`, offers it
    working     what a worker does; `undoing`: what happens when somebody's answers count no more
    managing    what a requester does; `reading`: who looks at a large collection does not keep workers waiting
    service     both, each in one transaction of a store: what pages, commands and rehearsals use
    pictures    the pictures of a project
    starting/   `collect init`      exporting/  `collect export`, Label Studio      rehearsal/  `collect rehearse`

And its pages: `hosted` (collections on a server), `entry_pages` (links, consent), `work_pages` and `forms` (tasks),
`request_pages` (for whoever asked for it), `api` (for programs), `prolific` (links that it signed).
"""
