/** Look-ups by hashed key, many at a time: records in doubt and people. */
import type { HeldDoubt, Ledger } from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { confirmPeople, forgetPerson } from './account-writes.ts'
import { noteAudit } from './audit.ts'
import type { DeliveredStore } from './delivered-store.ts'
import { hex, rowsOf } from './dialect.ts'
import type { Exclusive } from './exclusive.ts'

export const slotsOf = (
  { db, dialect, readHot }: Exclusive,
  delivered: Pick<DeliveredStore, 'read' | 'prints'>,
): Ledger['slots'] => ({
  delivered: (jobId, rowKeys) => readHot(() => delivered.read(jobId, rowKeys)),
  prints: (jobId, rowKeys) => readHot(() => delivered.prints(jobId, rowKeys)),
  async held(jobId, rowKeys) {
    const found = new Map<string, HeldDoubt[]>()
    const ofJob = db.selectFrom('held').where('job_id', '=', jobId)
    // Most jobs have nothing in doubt: a single look saves a query for all keys.
    if ((await ofJob.select('job_id').limit(1).executeTakeFirst()) === undefined) return found
    const rows = await rowsOf(dialect, rowKeys, (keys) =>
      ofJob
        .select(['row_key', 'content', 'rule', 'series', 'sent_until'])
        .where('row_key', 'in', keys)
        .orderBy('row_key')
        .orderBy('content')
        .execute(),
    )
    for (const { row_key, content, rule, series, sent_until: sentUntil } of rows) {
      const doubts = found.get(hex(row_key)) ?? []
      doubts.push({ content: hex(content), rule: hex(rule), isOpen: series !== null, sentUntil })
      found.set(hex(row_key), doubts)
    }
    return found
  },
  async heldSeries(jobId) {
    const rows = await db
      .selectFrom('held')
      .select('series')
      .distinct()
      .where('job_id', '=', jobId)
      .where('series', 'is not', null)
      // Leaves out records that nobody has looked up yet: the next export with the record looks first.
      .where('sent_until', 'is', null)
      .execute()
    return new Set(rows.flatMap(({ series }) => (series === null ? [] : [hex(series)])))
  },
  async heldContents(contents) {
    const rows = await rowsOf(dialect, contents, (keys) =>
      db.selectFrom('held').select('content').where('content', 'in', keys).execute(),
    )
    return new Set(rows.map(({ content }) => hex(content)))
  },
})

export const peopleOf = (turns: Exclusive, ids: AccountIdCipher): Omit<Ledger['people'], 'scrub'> => ({
  ...accountsOf(turns, ids),
  ...forgottenPeople(turns, ids),
  ...notesOnPeople(turns),
})

const accountsOf = (
  { db, dialect, write }: Exclusive,
  { open, seal }: AccountIdCipher,
): Pick<
  Ledger['people'],
  'accounts' | 'sharedReferences' | 'sharedIds' | 'registeredBy' | 'knownAccounts' | 'confirm'
> => ({
  async accounts(gateway, references) {
    const rows = await rowsOf(dialect, references, (keys) =>
      db
        .selectFrom('account')
        .select(['reference', 'account_id', 'sent_before as sentBefore', 'born', 'named'])
        .where('gateway', '=', gateway)
        .where('reference', 'in', keys)
        .execute(),
    )
    const known = rows.map(({ reference, account_id, ...more }) => ({
      reference: hex(reference),
      accountId: open(account_id),
      ...more,
    }))
    return new Map(known.map((one) => [one.reference, one]))
  },
  async sharedReferences(gateway, references) {
    const ofGateway = db.selectFrom('shared_reference').select('reference').where('gateway', '=', gateway)
    // Usually the table is empty: a single look saves a query for all people.
    if ((await ofGateway.limit(1).executeTakeFirst()) === undefined) return new Set()
    const rows = await rowsOf(dialect, references, (keys) =>
      ofGateway.where('reference', 'in', keys).execute(),
    )
    return new Set(rows.map(({ reference }) => hex(reference)))
  },
  async sharedIds(gateway, accountIds) {
    const rows = await db
      .selectFrom('account')
      .select('account_id')
      .where('gateway', '=', gateway)
      .where('account_id', 'in', accountIds.map(seal))
      .groupBy('account_id')
      .having(({ fn }) => fn.countAll(), '>', 1)
      .execute()
    return new Set(rows.map(({ account_id }) => open(account_id)))
  },
  async registeredBy(gateway, references, runId) {
    const rows = await rowsOf(dialect, references, (keys) =>
      db
        .selectFrom('account')
        .select('reference')
        .where('gateway', '=', gateway)
        .where('reference', 'in', keys)
        .where('registered_by', '=', runId)
        .execute(),
    )
    return new Set(rows.map(({ reference }) => hex(reference)))
  },
  async knownAccounts(gateway, after, limit) {
    const rows = await db
      .selectFrom('account')
      .select(['reference', 'account_id'])
      .where('gateway', '=', gateway)
      .where('reference', '>', Buffer.from(after, 'hex'))
      .where('account_id', 'is not', null)
      .orderBy('reference')
      .limit(limit)
      .execute()
    return rows.map(({ reference, account_id: id }) => ({ reference: hex(reference), accountId: open(id) }))
  },
  confirm: (gateway, people, acting) =>
    write(async (writer) => {
      const confirmed = await confirmPeople(writer, gateway, people)
      if (acting !== undefined)
        for (const subject of people.keys())
          await noteAudit(writer, { ...acting, action: 'accounts-confirm', job: null, run: null, subject })
      return confirmed
    }),
})

const forgottenPeople = (
  { db, dialect, write }: Exclusive,
  { seal }: AccountIdCipher,
): Pick<Ledger['people'], 'forgotten' | 'forget'> => ({
  async forgotten(gateway, references) {
    const ofGateway = db.selectFrom('forgotten').where('gateway', '=', gateway)
    const found = new Map<string, number>()
    // Skips hashing everybody: usually the table is empty.
    if ((await ofGateway.select('times').limit(1).executeTakeFirst()) === undefined) return found
    const rows = await rowsOf(dialect, references(), (keys) =>
      ofGateway.select(['reference', 'times']).where('reference', 'in', keys).execute(),
    )
    for (const { reference, times } of rows) found.set(hex(reference), times)
    return found
  },
  forget: (gateway, references, accountId, acting) =>
    write(async (writer) => {
      await forgetPerson(writer, gateway, references, seal(accountId))
      const [subject = null] = references
      if (acting !== undefined) await noteAudit(writer, { ...acting, job: null, run: null, subject })
    }),
})

const notesOnPeople = ({
  db,
  dialect,
}: Exclusive): Pick<Ledger['people'], 'collected' | 'medicalRequests'> => ({
  async collected(jobId, people) {
    const rows = await rowsOf(dialect, people, (keys) =>
      db
        .selectFrom('collected')
        .select(['person', 'content', 'run_id as run'])
        .where('job_id', '=', jobId)
        .where('person', 'in', keys)
        .execute(),
    )
    return new Map(
      rows.map(({ person, content, run }) => [hex(person), { run, content: content && hex(content) }]),
    )
  },
  async medicalRequests(gateway, references) {
    const rows = await rowsOf(dialect, references, (keys) =>
      db
        .selectFrom('medical_request')
        .select(['reference', 'content', 'state', 'heard_at as heardAt', 'run_id as run'])
        .where('gateway', '=', gateway)
        .where('reference', 'in', keys)
        .execute(),
    )
    const known = rows.map((row) => ({ ...row, reference: hex(row.reference), content: hex(row.content) }))
    return new Map(known.map((one) => [one.reference, one]))
  },
})
