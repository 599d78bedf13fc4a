/**
 * Three nights of a clinic, and then every command that answers, in words and as JSON, on a clock that goes on by what commands wait: all that
 * is printed stands in golden files. The tests beside this one say what must be there; the files show whatever else changes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'vitest'
import { PASS } from '../faults/fault-proxy.ts'
import { type FaultyClinic, openFaultyClinic, unanswered } from './left-behind.ts'
import { deliver, rowsOf, runIn, typist } from './typist.ts'

const JOB = `exports:
  from: ../inbox
  match: "clinic_{date:yyyyMMdd}.csv"
  mapping: clinic
  archive: ../done
  expect: { by: "30 1 * * *", zone: Etc/UTC }
schedule: { cron: "0 2 * * *", zone: Etc/UTC }
accounts: { register: never }
notify: { command: "true" }
`

test('every command says what it said', async () => {
  const clinic = await openFaultyClinic({
    job: JOB,
    submit: 'batch: { records: 50 }',
    environment: { WAYBILL_KEY: 'a key that stays the same' },
  })
  const { type, both, at, golden } = typist(clinic)
  await mkdir(join(clinic.workplace.folder, 'done'))
  await deliver(clinic, 'clinic_20260302.csv', rowsOf('2026-03-02', 30))
  await type('run', 'clinic')
  at('2026-03-03T02:00:00Z')
  await deliver(clinic, 'clinic_20260303.csv', rowsOf('2026-03-03', 45, ['parsec', 'stone', 'parsec']))
  await type('run', 'clinic', '--dry-run')
  clinic.strike(unanswered('pass-then-reset'))
  const doubtful = runIn(await type('run', 'clinic', '--json'))
  clinic.strike(() => PASS)
  await golden('nights')

  at('2026-03-03T08:00:00Z')
  await looks(both, doubtful)
  await golden('looks')
  await decisions({ type, both, at }, doubtful)
  await golden('decisions')
  await exportsOf({ type, both, at }, clinic)
  await golden('exports')
  await mappings({ type, both }, clinic)
  await golden('mappings')
  await keeping({ type, both, at })
  await golden('keeping')
})

type Typist = Pick<ReturnType<typeof typist>, 'type' | 'both' | 'at'>

/** Commands that look, and change nothing. */
async function looks(both: Typist['both'], run: string): Promise<void> {
  await both('runs')
  await both('runs', '--failed', '--limit', '1')
  await both('runs', '--state', 'interrupted')
  await both('needs')
  await both('show')
  await both('show', run, '--reason', 'unit-unknown')
  await both('show', run, '--reason', 'unit-unknown', '--values')
  await both('show', 'nothing')
  const [transaction = ''] = /[0-9a-f]{16}-\d{6}-heart-rate-[0-9a-f]{8}/.exec(await both('in-doubt')) ?? []
  await both('trace', transaction)
  await both('trace', '--row', 'clinic_20260303.csv:45')
  await both('trace', '--person', 'p3')
  await both('trace', '--person', 'nobody')
  await both('exports', 'clinic')
  await both('audit')
  await both('backfills')
  await both('doctor')
  await both('expect', 'clinic')
  await both('schedule', '--explain', 'clinic')
  await both('logs', run)
}

/** Commands by which a person decides. */
async function decisions({ type, both, at }: Typist, run: string): Promise<void> {
  const listed = await type('in-doubt', '--json')
  const [first = '', second = ''] = listed.match(/[0-9a-f]{16}-\d{6}-heart-rate-[0-9a-f]{8}/g) ?? []
  await both('resolve', run, '--accept', '--transaction', first, '--note', 'seen there')
  await both('resolve', run, '--resend', '--transaction', second)
  await both('resolve', run)
  await both('reconcile', run, '--verify', '--seed', 'a seed')
  await both('rerun', '--job', 'clinic', '--dry-run')
  await both('rerun', run, '--only', 'rejected')
  await both('acknowledge', '--reason', 'unit-unknown', '--dry-run')
  await both('acknowledge', run, '--reason', 'unit-unknown', '--note', 'the vendor knows')
  await both('acknowledge', run, '--undo')
  await both('acknowledge', '--job', 'clinic')
  await both('acknowledge', run)
  await both('pause', 'clinic', '--until', '06:00', '--note', 'the vendor is moving')
  await both('pause', 'clinic')
  await both('schedule', '--explain')
  await both('needs', '--exit-code')
  await both('unpause', 'clinic')
  await both('unpause', 'clinic')
  await both('stop', 'clinic')
  await both('resume', 'clinic')
  await both('audit')
  at('2026-03-04T02:00:00Z')
  await both('expect')
  await type('expect', 'clinic', '--quiet')
  await both('notify', 'clinic')
  await both('notify', 'clinic', '--test')
  await type('run', 'clinic')
}

/** An export that cannot be read. */
async function exportsOf({ type, both, at }: Typist, clinic: FaultyClinic): Promise<void> {
  at('2026-03-06T02:00:00Z')
  await deliver(clinic, 'clinic_20260306.csv', 'id,day\n"broken')
  await type('run', 'clinic')
  await both('put-aside', 'clinic_20260306.csv', '--job', 'clinic')
  await both('put-aside', 'clinic_20260306.csv', '--job', 'clinic', '--reason', 'a test of the vendor')
  await both('needs')
  await both('put-aside', 'clinic_20260306.csv', '--job', 'clinic', '--undo')
}

async function mappings(
  { type, both }: Pick<Typist, 'type' | 'both'>,
  { workplace }: FaultyClinic,
): Promise<void> {
  const at = (path: string): string => join(workplace.folder, path)
  const night = 'done/clinic_20260303.csv'
  await both('mapping', 'list')
  await both('mapping', 'show', 'clinic')
  await both('mapping', 'check')
  await both('mapping', 'check', 'clinic', '--export', night)
  await type('mapping', 'init', night, '--name', 'drafted')
  await both('mapping', 'check', 'drafted')
  await both('mapping', 'test', 'drafted')
  await type('mapping', 'test', 'drafted', '--update')
  const text = await readFile(at('mappings/clinic.yaml'), 'utf8')
  await writeFile(
    at('mappings/taught.yaml'),
    text.replace('"unit" }', '"unit", table: { parsec: kg, kg: kg } }').replace('  hba1c: "a1c"\n', ''),
  )
  await both('mapping', 'diff', 'clinic', 'taught', night)
  await both('mapping', 'preview', 'clinic', night, '--rows', '1')
  await type('mapping', 'preview', 'clinic', night, '--rows', '1', '--full')
  await writeFile(
    at('mappings/taught.yaml'),
    text.replace('heart-rate', 'heart-rat').replace('"weight"', '"wieght"'),
  )
  await both('mapping', 'check', 'taught', '--export', night)
}

/** The installation and its ledger. */
async function keeping({ type, both, at }: Typist): Promise<void> {
  at('2026-09-06T02:00:00Z')
  await both('doctor')
  await both('needs')
  await both('prune', '--older-than', '30d', '--dry-run')
  await both('prune', '--older-than', '30d')
  await both('backup', 'saved.sqlite')
  await both('backup', 'saved.sqlite')
  await both('restore', 'saved.sqlite')
  await both('restore', 'nothing.sqlite')
  await both('ledger', 'copy', '--to', 'nowhere')
  await both('runs')
  await both('show')
  await type('completion', 'bash')
  await type('complete', 'waybill', 'sho')
  await type('init', 'installed')
  await type('run', 'elsewhere')
  await type('runs', '--state', 'odd')
}
