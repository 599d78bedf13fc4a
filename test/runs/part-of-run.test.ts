/** A part of an export, read by a worker: its rows alone, once, and what its end says to the holder of the job. */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { RunRequest } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { spoolFolder } from '../../src/run/arrival.ts'
import type { RunEvent } from '../../src/run/events.ts'
import type { Application } from '../../src/runs/application.ts'
import { readPart } from '../../src/runs/part-of-run.ts'
import { carryOut } from '../../src/runs/take-up.ts'
import { readSettings } from '../../src/system/settings.ts'
import { HEADER } from '../cli/clinic.ts'
import { client } from '../gateway/loopback.ts'
import { openRunScene } from '../run/run-scene.ts'

const GATEWAY = 'http://127.0.0.1:9'
/** Of nobody: in the first part, and nothing of it is sent. */
const ROW = ',2026-03-02,61,5.1,70.5,kg,fine\n'
const STOPPED = new WaybillError('interrupted', 'a person has stopped it')

interface Meeting {
  /** As the worker opens the ledger. */
  readonly ledger?: (ledger: Ledger) => Ledger
  readonly onEvent?: (event: RunEvent, interrupt: () => void) => void
}

/** A run under way with an export of three rows, in two parts. */
async function divide({ ledger: seen = (ledger) => ledger, onEvent = () => {} }: Meeting = {}) {
  const scene = await openRunScene(GATEWAY)
  const { ledger, jobId, clock } = scene
  const file = join(scene.inbox, 'day.csv')
  await writeFile(file, HEADER + ROW.repeat(3))
  const [plan, world] = await scene.prepare('run')
  const turn = async (): Promise<never> => {
    throw STOPPED
  }
  await carryOut(plan, { ...world, turn })
  const { lease } = world.held
  const begun = (await ledger.runs.find('run')) ?? expect.fail('no run')
  const run = await ledger.runs.resume(lease, begun, clock.now(), undefined)
  const [record = expect.fail('no export')] = await ledger.exports.ofRun('run')
  await run.openParts(record.id, 2)
  const { home, folders, random, sleep } = world
  const variables = {
    ...{ WAYBILL_HOME: home, WAYBILL_JOBS: folders.jobs, WAYBILL_MAPPINGS: folders.mappings },
    ...{ WAYBILL_GATEWAY_URL: GATEWAY, WAYBILL_API_KEY: 'a', WAYBILL_ACCESS_TOKEN: 'b' },
    WAYBILL_KEY: 'k'.repeat(64),
  }
  const interrupt = new AbortController()
  const told: RunEvent[] = []
  let closed = 0
  const close = async (): Promise<void> => {
    await turnOfTheLoop()
    closed++
  }
  const release: Ledger['leases']['release'] = async (...given) => {
    for (const _ of [1, 2, 3]) await turnOfTheLoop()
    // A ledger that is closed takes nothing.
    if (closed === 0) await ledger.leases.release(...given)
  }
  const application = {
    ...{ settings: readSettings(variables, home), now: clock.now, random, sleep, version: '0.1.0' },
    ...{ owner: 'there:2', isDead: () => false, interrupt: interrupt.signal, randomHex: () => 'f' },
    openLedger: async () => ({ ...seen({ ...ledger, leases: { ...ledger.leases, release } }), close }),
    connectGateway: async (name: string) => ({ gateway: client(GATEWAY), name, describe: name, close }),
  } as unknown as Application
  const listener = (event: RunEvent): void => {
    told.push(event)
    onEvent(event, () => interrupt.abort(STOPPED))
  }
  const spool = async (part?: number): Promise<string> => {
    const folder = spoolFolder(home, jobId, 'ordinary', part)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'fetched.csv'), 'a')
    return join(folder, 'fetched.csv')
  }
  return {
    ...{ ...scene, record, run, file, spool, interrupt },
    read: (number: number, more: Partial<Extract<RunRequest, { what: 'part' }>> = {}) => {
      const request = { what: 'part', job: 'clinic', run: 'run', exportRow: record.id, number } as const
      return readPart(application, { listener }, { ...request, ...more })
    },
    parts: async (): Promise<string[]> =>
      (await ledger.parts.ofExport(record.id)).map(({ state, rows }) => `${state} ${rows.read}`),
    closed: (): number => closed,
    /** Takes the part for another worker, if nobody holds it. */
    async takesElsewhere(number: number): Promise<boolean> {
      const part = { exportRow: record.id, number, of: 2 }
      const asked = { jobId, runId: 'run', owner: 'elsewhere:9', now: clock.now(), ttlMs: 900_000, part }
      return (await ledger.leases.acquire(asked, () => false)).ok
    },
    of: (...types: RunEvent['type'][]): RunEvent[] => told.filter(({ type }) => types.includes(type)),
  }
}

const started = (part: string) => ({ type: 'partStarted', run: 'run', job: 'clinic', part })

test.each([
  [0, ['settled 3', 'open 0']],
  [1, ['open 0', 'settled 0']],
])(
  'part %i of an export is read to its end, and no other; nothing of it is left open',
  async (number, states) => {
    const { read, parts, of, spool, closed, takesElsewhere } = await divide()
    const own = await spool(number)
    const others = [await spool(), await spool(1 - number)]
    expect(await read(number)).toEqual({ run: 'run', exit: 0 })
    expect(await parts()).toEqual(states)
    expect(of('partStarted', 'partEnded')).toEqual([
      started(`${number + 1} of 2`),
      { type: 'partEnded', code: undefined },
    ])
    // What is fetched for the other part, and for the run, others need.
    expect([own, ...others].map((file) => existsSync(file))).toEqual([false, true, true])
    expect([closed(), await takesElsewhere(number)]).toEqual([2, true])
  },
)

type Divided = Awaited<ReturnType<typeof divide>>

test.each<[string, (divided: Divided) => unknown, object]>([
  ['whose part is settled', ({ read }) => read(0), {}],
  ['of an export that has ended', ({ run, record }) => run.endExport(record.id, 'finished'), {}],
  ['of an export of another run', () => {}, { run: 'other' }],
  ['of an export that was pruned', () => {}, { exportRow: 77 }],
  ['with the number of no part', () => {}, { number: 2 }],
])('a ticket %s is completed, and nothing is read', async (_, meet, more) => {
  const divided = await divide()
  await meet(divided)
  const before = [await divided.parts(), divided.of('partStarted').length]
  expect(await divided.read(0, more)).toEqual({ run: 'run', exit: 0, ...('run' in more && more) })
  expect([await divided.parts(), divided.of('partStarted').length]).toEqual(before)
})

test('a part whose file is gone stays open, for when it is back, and holds nothing meanwhile', async () => {
  const { read, parts, file, closed } = await divide()
  await rm(file)
  for (const _ of [1, 2]) await expect(read(0)).rejects.toMatchObject({ code: 'export-changed' })
  expect([await parts(), closed()]).toEqual([['open 0', 'open 0'], 4])
  await writeFile(file, HEADER + ROW.repeat(3))
  expect(await read(0)).toMatchObject({ exit: 0 })
})

test('a part that another worker reads is refused, and that worker is named', async () => {
  const { read, takesElsewhere } = await divide()
  expect(await takesElsewhere(0)).toBe(true)
  await expect(read(0)).rejects.toMatchObject({
    code: 'job-held',
    message: expect.stringContaining('elsewhere:9'),
  })
  expect(await read(1)).toMatchObject({ exit: 0 })
})

test('a worker that is stopped while it reads a part leaves it open, and says that it was stopped', async () => {
  const { read, parts, of } = await divide({
    onEvent: ({ type }, interrupt) => {
      if (type === 'partStarted') interrupt()
    },
  })
  expect(await read(0)).toEqual({ run: 'run', exit: 130, code: 'interrupted' })
  expect(of('partEnded')).toEqual([{ type: 'partEnded', code: 'interrupted' }])
  expect(await parts()).toEqual(['open 0', 'open 0'])
})

test('what a dead process has unpacked for a part is removed before it is read: the disk need not hold both', async () => {
  let left: boolean | undefined
  const { read, spool } = await divide({
    onEvent({ type }) {
      if (type === 'partStarted') left = existsSync(unpacked)
    },
  })
  const unpacked = join(dirname(await spool(0)), 'unpacked')
  await mkdir(unpacked)
  await writeFile(join(unpacked, 'day.csv'), 'a')
  await read(0)
  expect(left).toBe(false)
})

test('a worker that is about to end begins no part', async () => {
  const { read, of, interrupt } = await divide()
  interrupt.abort(STOPPED)
  await expect(read(0)).rejects.toMatchObject({ code: 'interrupted' })
  expect(of('partStarted')).toEqual([])
})

test('a defect ends a part by the exit code of a defect, without a word of what it met', async () => {
  const arrivalOf = (): never => {
    throw new TypeError('health data')
  }
  const { read, parts } = await divide({
    ledger: (ledger) => ({ ...ledger, exports: { ...ledger.exports, arrivalOf } }),
  })
  expect(await read(0)).toEqual({ run: 'run', exit: 70 })
  expect(await parts()).toEqual(['stopped 0', 'open 0'])
})
