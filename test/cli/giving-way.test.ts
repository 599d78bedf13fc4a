/** Whoever is on call need not wait for the end of a backfill: each command that wants its job asks it, and it gives way. */
import type { ChildProcess } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { CommandContext } from '../../src/cli/command-form.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { CLINIC, HEADER } from './clinic.ts'
import { type Ended, ended, summaryOf } from './command-line.ts'
import {
  DAYS,
  daysOf,
  eachOnce,
  inDoubt,
  isBatch,
  JOB,
  nameOf,
  openHistory,
  rowOf,
  storedDays,
} from './history.ts'

test('reconcile, rerun and resolve wait until the backfill lets them go first, and it goes on; each record is stored once', async () => {
  const scene = await openHistory()
  const [d1 = '', d2 = '', d3 = '', d4 = '', d5 = '', found = '', rerun = '', resent = '', accepted = ''] =
    DAYS
  const ids = {
    found: await inDoubt(scene, found, 'pass-then-reset'),
    rerun: await inDoubt(scene, rerun, 'reset'),
    resent: await inDoubt(scene, resent, 'reset'),
    accepted: await inDoubt(scene, accepted, 'pass-then-reset'),
  }
  // Typed while the backfill sends that day.
  const typed = new Map([
    [d1, ['reconcile', ids.found]],
    [d2, ['rerun', ids.rerun, '--only', 'in-doubt', '--quiet']],
    [d3, ['resolve', ids.resent, '--resend']],
    [d4, ['resolve', ids.accepted, '--accept']],
  ])
  const ends: Promise<Ended>[] = []
  let refused: Ended | undefined
  let own: unknown
  scene.strike(async (request) => {
    if (!isBatch(request)) return PASS
    const day = daysOf(request)
    const args = typed.get(day)
    typed.delete(day)
    if (args === undefined) return PASS
    own = scene.query('select run_id from lease')[0]?.['run_id']
    if (day === d1) refused = await scene.start(['resolve', String(own), '--give-up'])
    ends.push(scene.start(args))
    await scene.untilAsked()
    return PASS
  })
  const filled = await scene.start([...scene.backfill, '--json'])
  expect({ code: filled.code, err: filled.err }).toMatchObject({ code: 0 })
  expect(ends).toHaveLength(4)
  for (const end of ends) {
    const { code, err } = await end
    expect({ code, err }).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /warn {2}waiting for the backfill of clinic \(run \S+, elsewhere:1, since 20\d\d-\S+Z\), which gives way/,
      ),
    })
  }
  expect(refused).toMatchObject({ code: 5, err: expect.stringContaining('error job-held') })
  expect(refused?.err).toContain(
    `Stop it first: waybill stop ${own}. Then type: waybill resolve ${own} --give-up`,
  )
  const summary = summaryOf(filled)
  expect(summary).toMatchObject({ run: own, state: 'finished', balanced: true, rows: { read: 9 } })
  expect(summary.records.biometric).toMatchObject({ made: 27, accepted: 15, unchanged: 12, inDoubt: 0 })
  const before = [found, rerun, resent, accepted]
  expect(scene.sent()).toEqual([...before, d1, d2, rerun, d3, resent, d4, d5])
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})

test('what a backfill that is killed then has under way is settled before a rerun sends anything', async () => {
  const scene = await openHistory()
  const [, second = ''] = DAYS
  const path = await scene.deliver(nameOf(second), HEADER + rowOf(second))
  const mapping = join(scene.workplace.folder, 'mappings/clinic.yaml')
  await writeFile(mapping, CLINIC.replace('heart-rate: "pulse"', 'heart-rate: "remark"'))
  const first = summaryOf(await scene.run('--file', path))
  expect(first.records.biometric).toMatchObject({ accepted: 2, rejected: 1 })
  await writeFile(mapping, CLINIC)
  let running: ChildProcess | undefined
  let rerun: Promise<Ended> | undefined
  scene.strike(async (request) => {
    if (!isBatch(request) || daysOf(request) !== second || rerun !== undefined) return PASS
    rerun = scene.workplace.waybill('rerun', first.run, '--json')
    await scene.untilAsked()
    running?.kill('SIGKILL')
    return { do: 'pass-then-hang' }
  })
  running = scene.workplace.start(...scene.backfill)
  await ended(running)
  const { code, out, err } = (await rerun) ?? { code: 1, out: '', err: '' }
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('are settled first') })
  expect(summaryOf({ code, out, err }).records.biometric).toMatchObject({
    made: 3,
    accepted: 0,
    unchanged: 3,
  })
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS.slice(0, 2)))
  expect(summaryOf(await scene.start([...scene.backfill, '--json']))).toMatchObject({ state: 'finished' })
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})

test('a backfill that was killed settles what it had under way before it gives way, typed again', async () => {
  const scene = await openHistory()
  const [first = '', , , , , found = ''] = DAYS
  const run = await inDoubt(scene, found, 'pass-then-reset')
  let running: ChildProcess | undefined
  scene.strike((request) => {
    if (!isBatch(request)) return PASS
    running?.kill('SIGKILL')
    return { do: 'pass-then-hang' }
  })
  running = scene.workplace.start(...scene.backfill)
  await ended(running)
  scene.strike(() => PASS)
  let other: Promise<Ended> | undefined
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const acquire: typeof ledger.leases.acquire = async (...given) => {
        const answer = await ledger.leases.acquire(...given)
        if (answer.ok && other === undefined) {
          other = scene.start(['reconcile', run])
          await scene.untilAsked()
        }
        return answer
      }
      return { ...ledger, leases: { ...ledger.leases, acquire } }
    },
  }))
  // It sends nothing, and could not settle that itself.
  expect(await other).toMatchObject({
    code: 0,
    out: expect.stringContaining('records in doubt: 3 stored'),
  })
  expect(summaryOf(filled)).toMatchObject({ state: 'finished', balanced: true, rows: { read: 9 } })
  expect(scene.sent().slice(0, 3)).toEqual([found, first, DAYS[1]])
  expect(await storedDays(scene.store)).toEqual(eachOnce(DAYS))
})

test('a backfill that is given up while it lets another one go first ends, and does not begin anew', async () => {
  const scene = await openHistory()
  const [d1 = '', , , , , found = ''] = DAYS
  const run = await inDoubt(scene, found, 'pass-then-reset')
  let goOn = (): void => {}
  const givenUp = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let other: Promise<Ended> | undefined
  let own: unknown
  scene.strike(async (request) => {
    if (!isBatch(request) || other !== undefined) return PASS
    own = scene.query('select run_id from lease')[0]?.['run_id']
    const giveUp = (context: CommandContext): Partial<CommandContext> => ({
      async openLedger() {
        const ledger = await context.openLedger()
        const release: typeof ledger.leases.release = async (lease) => {
          await ledger.leases.release(lease)
          expect(await scene.start(['resolve', String(own), '--give-up'])).toMatchObject({ code: 0 })
          goOn()
        }
        return { ...ledger, leases: { ...ledger.leases, release } }
      },
    })
    other = scene.start(['reconcile', run], giveUp)
    await scene.untilAsked()
    return PASS
  })
  let gaveWay = false
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const release: typeof ledger.leases.release = async (lease) => {
        gaveWay = true
        await ledger.leases.release(lease)
      }
      return { ...ledger, leases: { ...ledger.leases, release } }
    },
    sleep: (ms, signal) => (gaveWay ? givenUp : context.sleep(Math.min(ms, 20), signal)),
  }))
  expect((await other)?.code).toBe(0)
  expect({ code: filled.code, err: filled.err }).toMatchObject({ code: 5 })
  const summary = summaryOf(filled)
  expect(summary).toMatchObject({ run: own, state: 'failed', error: { code: 'lease-lost' } })
  expect(summary.error?.message).toContain('(failed, given-up)')
  expect(scene.sent()).toEqual([found, d1])
})

test.each([
  { when: 'in its only go', atDays: [DAYS.at(-1)] },
  { when: 'once it has given way before', atDays: [DAYS[0], DAYS.at(-1)] },
])('a backfill that is asked for its job when all of it is loaded ends, $when', async ({ atDays }) => {
  const scene = await openHistory(JOB.replace('mapping: clinic', 'mapping: clinic, archive: ../done'))
  for (const day of DAYS) await scene.deliver(nameOf(day), HEADER + rowOf(day))
  const found = '2026-04-01'
  const run = await inDoubt(scene, found, 'pass-then-reset')
  const others: Promise<Ended>[] = []
  const open = new Set(atDays)
  let isSeen = (): void => {}
  scene.strike(async (request) => {
    if (!isBatch(request) || !open.delete(daysOf(request))) return PASS
    const seen = new Promise<void>((resolve) => {
      isSeen = resolve
    })
    others.push(scene.start(['reconcile', run]))
    // Beside the last export it learns of it while the batch is under way, after which it begins no chunk.
    await (open.size === 0 ? seen : scene.untilAsked())
    return PASS
  })
  const typed = ['backfill', 'clinic', '--from', DAYS[0] ?? '', '--to', DAYS.at(-1) ?? '', '--json']
  const filled = await scene.start(typed, (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const waiter: typeof ledger.way.waiter = async (...looked) => {
        const one = await ledger.way.waiter(...looked)
        if (one !== undefined) isSeen()
        return one
      }
      return { ...ledger, way: { ...ledger.way, waiter } }
    },
  }))
  expect({ code: filled.code, err: filled.err }).toMatchObject({ code: 0 })
  for (const other of others) expect(await other).toMatchObject({ code: 0 })
  expect(summaryOf(filled)).toMatchObject({ state: 'finished', balanced: true, rows: { read: 9 } })
  expect(await readdir(join(scene.workplace.folder, 'done'))).toHaveLength(DAYS.length)
  expect(await storedDays(scene.store)).toEqual(eachOnce([...DAYS, found]))
})

test('a backfill that reads an export ahead gives way in the middle of that, and reads it again', async () => {
  const scene = await openHistory(`${JOB}drift: { after: 1, empty: { stop: 50% } }\n`)
  const today = '2026-04-01'
  await scene.deliver(nameOf(today), HEADER + rowOf(today))
  let nightly: Promise<Ended> | undefined
  let isSeen = (): void => {}
  const seen = new Promise<void>((resolve) => {
    isSeen = resolve
  })
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const waiter: typeof ledger.way.waiter = async (...looked) => {
        const found = await ledger.way.waiter(...looked)
        if (found !== undefined) isSeen()
        return found
      }
      return {
        ...ledger,
        way: { ...ledger.way, waiter },
        // Asked when an export is to be compared, before it is read.
        profiles: {
          ...ledger.profiles,
          async has(...asked) {
            if (nightly === undefined && scene.sent().length === 2) {
              nightly = scene.start(['run', 'clinic', '--json'])
              await seen
            }
            return ledger.profiles.has(...asked)
          },
        },
      }
    },
  }))
  expect(filled.code).toBe(0)
  expect(summaryOf((await nightly) ?? filled)).toMatchObject({ state: 'finished', rows: { read: 1 } })
  expect(summaryOf(filled)).toMatchObject({ state: 'finished', balanced: true, rows: { read: 9 } })
  // Nothing of the third was written down before the other run began.
  const written = scene.query('select name from export order by id').map(({ name }) => name)
  expect(written).toEqual([...DAYS.slice(0, 2), today, ...DAYS.slice(2)].map(nameOf))
  expect(await storedDays(scene.store)).toEqual(eachOnce([...DAYS, today]))
})

test('a backfill that is asked for its job whenever it reads comes through all the same', async () => {
  const scene = await openHistory(`${JOB}drift: { after: 1, empty: { stop: 50% } }\n`)
  const today = '2026-04-01'
  await scene.deliver(nameOf(today), HEADER + rowOf(today))
  const loaded = (): number => scene.sent().filter((day) => DAYS.includes(day)).length
  /** What was loaded when each nightly run was typed. */
  const typedAt: number[] = []
  const nightly: Promise<Ended>[] = []
  let isWaiting = false
  let isSeen = false
  let looks = 0
  const filled = await scene.start([...scene.backfill, '--json'], (context) => ({
    async openLedger() {
      const ledger = await context.openLedger()
      const waiter: typeof ledger.way.waiter = async (...looked) => {
        const found = await ledger.way.waiter(...looked)
        isSeen ||= found !== undefined
        return found
      }
      return {
        ...ledger,
        way: { ...ledger.way, waiter },
        // Asked when an export is to be compared, before it is read.
        profiles: {
          ...ledger.profiles,
          async has(...asked) {
            if (!isWaiting && nightly.length < 6) {
              isWaiting = true
              isSeen = false
              typedAt.push(loaded())
              const run = scene.start(['run', 'clinic', '--json'])
              nightly.push(run)
              void run.finally(() => {
                isWaiting = false
              })
              await scene.untilAsked()
              const before = looks
              // Beside the run it looks whether it is asked, and is at an end with that once it is; or does not look.
              await vi.waitFor(() => expect(isSeen || looks > before + 2).toBe(true), { timeout: 60_000 })
            }
            return ledger.profiles.has(...asked)
          },
        },
      }
    },
    sleep: (ms, signal) => {
      looks += 1
      return context.sleep(Math.min(ms, 20), signal)
    },
  }))
  expect({ code: filled.code, err: filled.err }).toMatchObject({ code: 0 })
  expect(nightly).toHaveLength(6)
  for (const run of nightly) expect(await run).toMatchObject({ code: 0 })
  // Asked three times, it has loaded an export more: it begins a chunk between two, and reads an export ahead.
  for (const [at, before] of typedAt.entries())
    expect(typedAt[at + 3] ?? DAYS.length, `${typedAt}`).toBeGreaterThan(before)
  expect(await storedDays(scene.store)).toEqual(eachOnce([...DAYS, today]))
})
