/** Heartbeats of runs and of the schedule, at a real monitor; needs that they tell of, and those that the schedule ends by itself. */
import { describe, expect, test } from 'vitest'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import { EXIT } from '../../src/model/errors.ts'
import type { Need } from '../../src/needs/need.ts'
import { createHeartbeatWatch, followByHeartbeat, needsSomebody } from '../../src/runs/heartbeats.ts'
import { type Loopback, type Reply, serve } from '../gateway/loopback.ts'
import { passingLedger } from '../ledger/begun-run.ts'

const fire = (state: FireRecord['state'], run_id: string | null) => ({ state, run_id })
const need = (cause: Need['cause'], jobs: readonly string[], ...runs: string[]) => ({ cause, jobs, runs })

describe('a job needs somebody', () => {
  test.each([
    ['no need', [], [], false],
    ['a need of its own', [need('run-unfinished', ['clinic'], 'R1')], [], true],
    ['a need of another job', [need('run-unfinished', ['lab'], 'R1')], [], false],
    ['a disk that is full stops every job', [need('disk', [])], [], true],
    ['a disk that is full while a run is tried again', [need('disk', [])], [fire('retrying', 'R1')], true],
    ['its run is tried again', [need('run-unfinished', ['clinic'], 'R1')], [fire('retrying', 'R1')], false],
    [
      'its run has ended, its fire not yet',
      [need('run-unfinished', ['clinic'], 'R1')],
      [fire('running', 'R1')],
      false,
    ],
    [
      'one gateway is away for two jobs',
      [need('run-unfinished', ['clinic', 'lab'], 'R9', 'R1')],
      [fire('retrying', 'R1')],
      false,
    ],
    [
      'an earlier run while another goes on',
      [need('run-unfinished', ['clinic'], 'R0')],
      [fire('running', 'R1')],
      true,
    ],
    [
      'an earlier run while another is tried again',
      [need('run-unfinished', ['clinic'], 'R0')],
      [fire('retrying', 'R1')],
      true,
    ],
    [
      'its run has left rejects, its fire has not ended',
      [need('left-rejected', ['clinic'], 'R1')],
      [fire('running', 'R1')],
      true,
    ],
    [
      'its run waits for the schedule to start',
      [need('run-unfinished', ['clinic'], 'R1')],
      [fire('interrupted', 'R1')],
      true,
    ],
    [
      'a need without a run, while a fire begins',
      [need('job-late', ['clinic'])],
      [fire('running', null)],
      true,
    ],
    [
      'the second of two needs',
      [need('run-unfinished', ['clinic'], 'R1'), need('run-unfinished', ['clinic'], 'R0')],
      [fire('retrying', 'R1')],
      true,
    ],
  ] as const)('%s', (_, needs, open, expected) => {
    expect(needsSomebody('clinic', needs, open)).toBe(expected)
  })
})

const jobWith = ({ url }: Loopback, job = 'clinic') =>
  ({ definition: { job, heartbeat: { url, service: 'healthchecks' } } }) as never

/** @param statuses answers of the monitor, the last one for the rest */
async function monitored(statuses: readonly number[]) {
  const warned: string[] = []
  const logger = { warn: (words: string) => void warned.push(words) } as never
  const monitor = await serve((_, at): Reply => ({ status: statuses[at] ?? statuses.at(-1) ?? 200 }))
  return { monitor, logger, warned, urls: () => monitor.seen.map(({ url }) => url) }
}

describe('the end of a run', () => {
  test.each([
    ['is heard', [200], ['/start', '/1'], 0],
    ['is told again where it was not heard', [200, 500, 200], ['/start', '/1', '/1'], 0],
    ['is told twice at most', [200, 500, 500], ['/start', '/1', '/1'], 1],
  ])('%s', async (_, statuses, urls, warnings) => {
    const { monitor, logger, warned, urls: seen } = await monitored(statuses)
    const follower = followByHeartbeat({ logger }, jobWith(monitor), (exit: number) => ({
      exit,
      code: undefined,
    }))
    await follower.begun?.()
    await follower.ended?.(1)
    expect(seen()).toEqual(urls)
    expect(warned).toHaveLength(warnings)
  })

  test('comes behind the begin, however slow the monitor is', async () => {
    const begun = Promise.withResolvers<Reply>()
    const monitor = await serve(({ url }) => (url === '/start' ? begun.promise : { status: 200 }))
    const logger = { warn: () => expect.fail('it was heard') } as never
    const follower = followByHeartbeat({ logger }, jobWith(monitor), (exit: number) => ({
      exit,
      code: undefined,
    }))
    await follower.begun?.()
    const ended = follower.ended?.(0)
    // Whoever does not wait has been heard by then.
    for (let at = 0; at < 9; at++) await fetch(`${monitor.url}/other`)
    expect(monitor.seen.map(({ url }) => url)).not.toContain('/0')
    begun.resolve({ status: 200 })
    await ended
    expect(monitor.seen.at(-1)?.url).toBe('/0')
  })

  test.each([
    ['a job that another process holds', { exit: EXIT.jobHeld, code: 'job-held' }, []],
    ['a run that is tried again', { exit: 3, code: 'gateway-failing' }, []],
    ['the last try', { exit: 3, code: 'gateway-refused-credentials' }, ['/3']],
  ])('of %s', async (_, end, urls) => {
    const { monitor, logger, urls: seen } = await monitored([200])
    const isTriedAgain = (code: string | undefined): boolean => code === 'gateway-failing'
    await followByHeartbeat({ logger }, jobWith(monitor), () => end, isTriedAgain).ended?.(undefined)
    expect(seen()).toEqual(urls)
  })
})

test('the schedule is heard of each job every half minute, and not at all where nobody knows what it needs', async () => {
  const { monitor, logger, warned, urls } = await monitored([200])
  let now = 1_000_000
  const watch = createHeartbeatWatch({ logger, now: () => now }, await passingLedger(), () => 'gateway')
  const jobs = ['clinic', 'lab'].map((name) => ({
    name,
    job: jobWith({ ...monitor, url: `${monitor.url}/${name}` }),
  }))
  const read = (needs: unknown) => (): Promise<readonly Need[]> =>
    needs === undefined
      ? Promise.reject(new Error('the ledger is away'))
      : Promise.resolve(needs as readonly Need[])
  const heard = async (needs: readonly ReturnType<typeof need>[] | undefined): Promise<string[]> => {
    const before = urls().length
    await watch.listed(jobs as never, read(needs))
    await watch.end()
    return urls().slice(before).sort()
  }
  expect(await heard(undefined)).toEqual([])
  expect(await heard([])).toEqual(['/clinic', '/lab'])
  now += 29_999
  expect(await heard([])).toEqual([])
  now += 1
  expect(await heard([need('job-late', ['lab'])])).toEqual(['/clinic', '/lab/fail'])
  expect(warned).toEqual([])
})

test('a monitor that takes nothing is told of once, and again for another reason', async () => {
  const { monitor, logger, warned } = await monitored([500, 500, 404, 404, 200, 404])
  let now = 1_000_000
  const watch = createHeartbeatWatch({ logger, now: () => now }, await passingLedger(), () => 'gateway')
  for (let at = 0; at < 6; at++) {
    await watch.listed([{ name: 'clinic', job: jobWith(monitor) }] as never, async () => [])
    await watch.end()
    now += 30_000
  }
  expect(warned.map((words) => /\d{3}/.exec(words)?.[0])).toEqual(['500', '404', '404'])
})
