/** A machine whose clock is wrong by an hour, beside another one, over one ledger in PostgreSQL: leases end by the clock of the server. */
import { expect, onTestFinished, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import type { Notice } from '../../src/notify/notice.ts'
import { tellDeadRun, tellHolder } from '../../src/runs/run-notices.ts'
import type { Teller } from '../../src/runs/teller.ts'
import { activityOf } from '../../src/story/facts.ts'
import { beginRun } from '../ledger/begun-run.ts'
import { emptySchema } from '../postgres/server.ts'

const HOUR_MS = 3_600_000
const alive = (): boolean => false

async function openShared(): Promise<Ledger> {
  const ledger = await openPostgresLedger({ url: await emptySchema() })
  onTestFinished(() => ledger.close())
  return ledger
}

/** Told of a run by a machine with another clock. */
async function toldBy(ledger: Ledger, aheadMs: number) {
  const run = (await ledger.runs.find('run-1')) ?? expect.fail('no run')
  const told: string[] = []
  const teller = { tell: async ({ kind }: Notice) => void told.push(kind) } as unknown as Teller
  const now = () => Date.now() + aheadMs
  const about = { job: 'nightly', gateway: 'gateway', at: now() }
  await tellDeadRun(teller, { ledger, gatewayName: 'gateway', now, isDead: alive }, 'nightly', [], true)
  await tellHolder(teller, ledger, about, [], now)
  return { kind: (await activityOf(ledger, run, now(), alive))?.kind, told }
}

const UNDER_WAY = { kind: 'under-way', told: ['job-held'] }
const STOPPED = { kind: 'stopped', told: ['run-stopped'] }

test('a fast clock takes no run under way for stopped, and a slow one no stopped run for under way', async () => {
  const ledger = await openShared()
  const run = await beginRun(ledger, 'run-1', { startedAt: Date.now() })
  for (const aheadMs of [0, HOUR_MS, -HOUR_MS]) expect(await toldBy(ledger, aheadMs)).toEqual(UNDER_WAY)
  await run.renew(0, -1)
  for (const aheadMs of [0, HOUR_MS, -HOUR_MS]) expect(await toldBy(ledger, aheadMs)).toEqual(STOPPED)
})
