/** Opening and ending a run: what it says of itself, new or taken up again, and what of its time counts as work. */
import { expect, test } from 'vitest'
import type { KnownCareTeam } from '../../src/ledger/ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Pausing } from '../../src/run/lease.ts'
import { openRun } from '../../src/run/open-run.ts'
import type { World } from '../../src/run/plan.ts'
import { openRunScene, START } from './run-scene.ts'

const GATEWAY = 'http://127.0.0.1:9'

async function scene() {
  const one = await openRunScene(GATEWAY)
  return {
    ...one,
    open: async (id: string, more: Partial<World> = {}) => openRun(...(await one.prepare(id, more))),
  }
}

const STOPPED = new WaybillError('interrupted', 'stopped')

test('the first run of a ledger says so: no later one does, and not as it is taken up again', async () => {
  const { open, saidOf } = await scene()
  await (await open('one')).end(STOPPED)
  await (await open('one')).end(undefined)
  await (await open('two')).end(undefined)
  expect(saidOf('runStarted').map(({ id, resumed, isFirst }) => [id, resumed, isFirst])).toEqual([
    ['one', false, true],
    ['one', true, false],
    ['two', false, false],
  ])
})

test('a run that is taken up again maps by the clock that it began with', async () => {
  const { clock, open } = await scene()
  const begun = await open('one')
  await begun.end(STOPPED)
  clock.pass(3_600_000)
  const again = await open('one')
  expect([begun.opening.startedAt, again.opening.startedAt]).toEqual([START, START])
  await again.end(undefined)
  const next = await open('two')
  expect(next.opening.startedAt).toBe(START + 3_600_000)
  await next.end(undefined)
})

test('waits for another run do not count as work, for those who are told and in the ledger', async () => {
  const { ledger, clock, open, saidOf } = await scene()
  const turns = [7_000, undefined, 11_000]
  const turn = async (_signal: AbortSignal, chunk: number, pausing: Pausing): Promise<void> => {
    const ms = turns[chunk - 1]
    if (ms !== undefined) await pausing(async () => clock.pass(ms))
  }
  const run = await open('one', { turn })
  for (const chunk of [1, 2, 3]) {
    clock.pass(100)
    await run.gate.turn(chunk)
  }
  clock.pass(30)
  await run.end(undefined)
  expect(saidOf('runEnded')).toMatchObject([{ workedMs: 330, state: 'finished' }])
  expect(await ledger.runs.find('one')).toMatchObject({ worked_ms: 330, ended_at: START + 18_330 })
})

test('a wait that fails, or during which the clock is set back, ends as any other', async () => {
  const { clock, open, saidOf } = await scene()
  const turn = async (_signal: AbortSignal, chunk: number, pausing: Pausing): Promise<void> =>
    pausing(async () => {
      clock.pass(chunk === 1 ? 5_000 : -2_000)
      if (chunk === 1) throw STOPPED
    })
  const run = await open('one', { turn })
  await expect(run.gate.turn(1)).rejects.toBe(STOPPED)
  clock.pass(4_000)
  await run.gate.turn(2)
  await run.end(STOPPED)
  expect(saidOf('runEnded')).toMatchObject([{ workedMs: 2_000, state: 'interrupted' }])
})

test('what an earlier process of a run counted as owed is counted anew from what is owed now', async () => {
  const { jobId, open, saidOf } = await scene()
  const owed = (npi: string, by: number): KnownCareTeam => ({
    ...{ account: 'a'.repeat(32), npi: npi.repeat(32), observedAt: 1, storedAt: 1, mark: 'to-set' },
    ...{ accountId: null, heardAt: 1, place: 0, content: null, deletions: [], markBy: by, deletionsBy: null },
  })
  const run = await open('one')
  await run.runLedger.saveCareTeams(GATEWAY, [owed('1', jobId)])
  Object.assign(run.runLedger.tallies.primaryCare, { owed: 3 })
  Object.assign(run.runLedger.tallies.careTeams, { owed: 5 })
  await run.end(STOPPED)
  await (await open('one')).end(undefined)
  expect(saidOf('runStarted').at(-1)?.tallies).toMatchObject({
    primaryCare: { owed: 1 },
    careTeams: { owed: 1 },
  })
})

test.each([
  ['interrupted', new WaybillError('interrupted', 'words'), null],
  ['interrupted', new WaybillError('gateway-unreachable', 'words'), 'words'],
  ['failed', new WaybillError('threshold-passed', 'words'), 'words'],
  ['interrupted', new Error('a cell'), null],
])('it ends as %s: %s', async (state, error, detail) => {
  const { ledger, open } = await scene()
  await (await open('one')).end(error)
  expect(await ledger.runs.find('one')).toMatchObject({ state, detail })
})

test('a run that another process has taken over is not ended here', async () => {
  const { ledger, open } = await scene()
  await (await open('one')).end(new WaybillError('lease-lost', 'taken over'))
  expect(await ledger.runs.find('one')).toMatchObject({ state: 'running', ended_at: null })
})
