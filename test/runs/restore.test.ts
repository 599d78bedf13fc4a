/** A backup that comes back: what is refused leaves the home as it was, and what is missing in it is named. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { backUpLedger } from '../../src/ledger/sqlite/backup.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createIdentity } from '../../src/model/ids.ts'
import { noteRefusedStart, readRefusedStarts } from '../../src/needs/refused-starts.ts'
import { restoreBackup } from '../../src/runs/restore.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const KEY = 'k'.repeat(64)
const GATEWAY = 'https://gateway.test'
const TAKEN_AT = Date.parse('2026-03-02T07:00:00Z')

/** A ledger of three runs at one gateway, of which the last two are not finished. */
async function writeLedger(file: string): Promise<void> {
  const ledger = await openLedger(file)
  await ledger.installation.useKey(createIdentity(KEY).fingerprint, 0)
  for (const [at, id] of ['run-1', 'run-2', 'run-3'].entries()) {
    const jobId = await ledger.jobs.id(`job-${id}`, GATEWAY)
    const asked = { jobId, runId: id, owner: 'here:1#boot.1', now: at, ttlMs: 1 }
    const answer = await ledger.leases.acquire(asked, () => true)
    if (!answer.ok) return expect.fail('held')
    const start = { id, jobId, startedAt: at, rejectsPath: 'r', receiptsPath: 'r' }
    const run = await ledger.runs.start(answer.lease, start)
    if (id === 'run-1') await run.endRun({ state: 'finished', endedAt: 1, reason: null })
    if (id === 'run-2') await run.endRun({ state: 'interrupted', endedAt: 1, reason: 'interrupted' })
    await ledger.leases.release(run.lease)
  }
  await ledger.close()
}

interface Given {
  readonly variables?: Readonly<Record<string, string>>
  /** Gateways that jobs name. */
  readonly jobs?: readonly string[]
  /** Prepares the home. */
  readonly before?: (home: string, ledger: string) => Promise<unknown>
  readonly backup?: (file: string) => Promise<unknown>
}

async function restore({ variables, jobs = [], before, backup }: Given) {
  const folder = await temporaryFolder()
  const [home, copy] = [join(folder, 'home'), join(folder, 'copy.sqlite')]
  await mkdir(home, { mode: 0o700 })
  await mkdir(join(folder, 'jobs'))
  for (const [at, gateway] of jobs.entries())
    await writeFile(
      join(folder, `jobs/j${at}.yaml`),
      `job: j${at}\ngateway: ${gateway}\nexports: { from: in, match: "*" }\nmapping: m\n`,
    )
  await writeLedger(join(folder, 'old.sqlite'))
  backUpLedger(join(folder, 'old.sqlite'), copy, TAKEN_AT)
  await backup?.(copy)
  await before?.(home, join(home, 'ledger.sqlite'))
  const filesThere = async (): Promise<string[]> =>
    (await readdir(home)).filter((name) => !/-(?:wal|shm)$/.test(name))
  const there = await filesThere()
  const settings = readSettings(
    { WAYBILL_HOME: home, WAYBILL_JOBS: join(folder, 'jobs'), WAYBILL_KEY: KEY, ...variables },
    folder,
  )
  const made = createApplication('0', settings, () => {}, new AbortController().signal)
  const application = { ...made, isDead: (owner: string) => owner === 'here:1#boot.1' }
  const restored = await restoreBackup(application, copy).catch((error: unknown) => error)
  // A refusal leaves the home as it was.
  if (restored instanceof WaybillError) expect(await filesThere()).toEqual(there)
  return { restored, home, copy }
}

test('a backup names when it was taken, what it has not finished, and which runs it does not know', async () => {
  const { restored, home, copy } = await restore({
    async before(home) {
      await mkdir(join(home, 'receipts'))
      for (const id of ['run-9', 'run-3', 'run-1', 'run-8'])
        await writeFile(join(home, `receipts/${id}.ndjson.gz`), '')
    },
  })
  expect(restored).toEqual({
    ...{ ledger: join(home, 'ledger.sqlite'), backup: copy, takenAt: '2026-03-02T07:00:00.000Z' },
    ...{ gateways: [GATEWAY], unfinished: ['run-2', 'run-3'], unknownRuns: ['run-8', 'run-9'] },
    aside: undefined,
  })
})

test('the start that was refused for want of the ledger needs nobody any more; another does', async () => {
  const { home } = await restore({
    async before(home) {
      noteRefusedStart(home, 'first', new WaybillError('job-invalid', 'wrong'), 1)
      noteRefusedStart(home, 'second', new WaybillError('ledger-missing', 'lost'), 1)
    },
  })
  expect(readRefusedStarts(home).map(({ job }) => job)).toEqual(['first'])
})

test('a ledger that is damaged is put aside, not removed', async () => {
  const { restored, home } = await restore({ before: (_, ledger) => writeFile(ledger, 'damaged') })
  const { aside } = restored as { readonly aside: string }
  expect(await readFile(aside, 'utf8')).toBe('damaged')
  expect((await readFile(join(home, 'ledger.sqlite'), 'latin1')).slice(0, 13)).toBe('SQLite format')
})

const emptyLedger = async (_: string, file: string): Promise<void> => (await openLedger(file)).close()

/** @param owner of a lease in a ledger that has sent nothing */
const heldLedger = async (file: string, owner: string): Promise<void> => {
  const ledger = await openLedger(file)
  const jobId = await ledger.jobs.id('job', GATEWAY)
  const asked = { jobId, runId: 'r', owner, now: Date.now(), ttlMs: 9_000_000 }
  expect((await ledger.leases.acquire(asked, () => true)).ok).toBe(true)
  await ledger.close()
}

test.each<[string, Given, string | undefined]>([
  ['over a ledger that has sent nothing', { before: emptyLedger }, undefined],
  [
    'over one that a dead process holds',
    { before: (_, file) => heldLedger(file, 'here:1#boot.1') },
    undefined,
  ],
  [
    'over one that a process holds',
    { before: (_, file) => heldLedger(file, 'here:2#boot.1') },
    'usage-wrong',
  ],
  ['over a ledger of use', { before: (_, file) => writeLedger(file) }, 'usage-wrong'],
  [
    'in the place of a file that is no ledger',
    { backup: (file) => writeFile(file, 'text') },
    'backup-unusable',
  ],
  ['beside a ledger in PostgreSQL', { variables: { WAYBILL_LEDGER: 'postgres://db/w' } }, 'usage-wrong'],
  ['under another key', { variables: { WAYBILL_KEY: 'x'.repeat(64) } }, 'key-differs'],
  ['without its key', { variables: { WAYBILL_KEY: '' } }, 'key-differs'],
  ['whose gateway a setting names', { variables: gatewayOf(GATEWAY) }, undefined],
  ['whose gateway the second job names', { jobs: ['https://other.test', GATEWAY] }, undefined],
  [
    'of another gateway than the settings name',
    { variables: gatewayOf('https://other.test') },
    'gateway-differs',
  ],
  ['of another gateway than the job names', { jobs: ['https://other.test'] }, 'gateway-differs'],
])('a backup %s is restored, or refused', async (_, given, code) => {
  const { restored } = await restore(given)
  if (code === undefined) expect(restored).toMatchObject({ unfinished: ['run-2', 'run-3'] })
  else expect(restored).toMatchObject({ code })
})

function gatewayOf(url: string): Record<string, string> {
  return { WAYBILL_GATEWAY_URL: url, WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' }
}
