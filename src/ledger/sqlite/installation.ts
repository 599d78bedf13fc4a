/** Identity of the installation: fingerprint of the key, and gateways that the ledger may send to. */
import { WaybillError } from '../../model/errors.ts'
import type { Ledger } from '../ledger.ts'
import { readSuspicion } from './backup.ts'
import type { Exclusive, Writer } from './exclusive.ts'

export function installationOf({ db, write, writeHot }: Exclusive): {
  readonly installation: Ledger['installation']
  readonly assertKey: (writer: Writer) => Promise<void>
} {
  /** Fingerprint of the key that this process uses. */
  let used: string | undefined
  const installation: Ledger['installation'] = {
    key: () => keyOf(db),
    async useKey(fingerprint, changedAt) {
      const known = await keyOf(db)
      if (known?.fingerprint !== fingerprint || changedAt !== undefined)
        await write((writer) => takeKey(writer, fingerprint, changedAt))
      used = fingerprint
    },
    async hasMet(gateway) {
      const met = db.selectFrom('gateway_met').select('at').where('gateway', '=', gateway)
      return (await met.executeTakeFirst()) !== undefined
    },
    async meet(gateway, at) {
      const met = db.insertInto('gateway_met').values({ gateway, at })
      await met.onConflict((conflict) => conflict.doNothing()).execute()
    },
    suspicion: (now) => writeHot((statements) => readSuspicion(statements, now)),
    async noteBehind(at) {
      await db.insertInto('copy').values({ taken_at: at }).execute()
    },
  }
  return {
    installation,
    /**
     * Call within the transaction that begins a run. @throws `key-differs` if the key was changed since this process used the key
     */
    async assertKey(writer: Writer): Promise<void> {
      const known = await keyOf(writer)
      if (used !== undefined && known !== undefined && known.fingerprint !== used) throw keyDiffers()
    },
  }
}

async function keyOf(database: Writer) {
  const row = await database.selectFrom('installation').selectAll().executeTakeFirst()
  return row && { fingerprint: row.fingerprint, hadOther: row.had_other_key !== 0 }
}

async function takeKey(writer: Writer, fingerprint: string, changedAt: number | undefined): Promise<void> {
  const known = await keyOf(writer)
  const isSame = known?.fingerprint === fingerprint
  if (isSame && (changedAt === undefined || known.hadOther)) return
  if (known !== undefined && !isSame) {
    if (changedAt === undefined) throw keyDiffers()
    await assertAllFinished(writer)
    // Hashes and sealed ids of the old key identify the people: marks and deletions owed for them could never be done.
    await writer.deleteFrom('care_team').execute()
    await writer.deleteFrom('account').execute()
  }
  const had_other_key = Number(changedAt !== undefined)
  if (changedAt !== undefined)
    await writer
      .insertInto('copy')
      .values({ taken_at: changedAt - 1 })
      .execute()
  await writer.deleteFrom('installation').execute()
  await writer.insertInto('installation').values({ fingerprint, had_other_key }).execute()
}

/** Only hashes of the old key identify the batches of an open chunk. */
async function assertAllFinished(writer: Writer): Promise<void> {
  const unfinished = await writer
    .selectFrom('run')
    .innerJoin('job', 'job.id', 'run.job_id')
    .select(['run.id', 'job.name'])
    .where('run.state', 'in', ['running', 'interrupted'])
    .executeTakeFirst()
  if (unfinished === undefined) return
  throw new WaybillError(
    'run-unfinished',
    `run ${unfinished.id} of ${unfinished.name} is unfinished, and another key does not recognise what it sent`,
    {
      remedy: `Put the old key back and finish it: waybill run ${unfinished.name}. Where the old key is lost, give it up: waybill resolve ${unfinished.id} --give-up`,
    },
  )
}

export const keyDiffers = (): WaybillError =>
  new WaybillError('key-differs', 'this is another key than the one that the ledger was made with')
