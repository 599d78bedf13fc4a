import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LEASE_MS } from '../../src/ledger/concerns.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createRunEvents } from '../../src/run/events.ts'
import { createGiveWay, type HeldJob, holdJob, type Pausing } from '../../src/run/lease.ts'
import { createMovedClock } from '../schedule/moved-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const START = Date.UTC(2026, 2, 2)
const at = (seconds: number): number => START + seconds * 1_000
const FAR = at(3_600)

/** Processes that want a job, on one ledger, by a clock that the test moves. What one tells goes into `told`. */
async function scene() {
  const folder = await temporaryFolder()
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const clock = createMovedClock(START)
  const dead = new Set<string>()
  const told: string[] = []
  const remedies: string[] = []
  const process = (owner: string) => {
    const interrupt = new AbortController()
    const events = createRunEvents({
      waitingForRun: (other) => void told.push(`${owner} waits for ${other.job} by ${other.owner}`),
    })
    return {
      ...{ ledger, owner, events, now: clock.now, sleep: clock.sleep, interrupt: interrupt.signal },
      gatewayName: 'gateway',
      isDead: (one: string) => dead.has(one),
      stop: () => interrupt.abort(),
    }
  }
  const jobId = await ledger.jobs.id('job', 'gateway')
  /** Wants the job, and says when it has it, or why not. */
  const want = (owner: string, givesWay: boolean) => {
    const deps = process(owner)
    const turn = { jobId, job: 'job', runId: `run of ${owner}`, givesWay }
    let held: HeldJob | undefined
    const over = holdJob(deps, turn).then(
      (one) => {
        held = one
        return `held at ${(clock.now() - START) / 1_000}`
      },
      (error) => {
        remedies.push(String(error.remedy))
        return String(error.code)
      },
    )
    return {
      deps,
      over,
      release: async () => held?.release(),
      lease: async () => held?.lease ?? expect.fail('the job is not held'),
      isLost: () => held?.lost.aborted,
      isStopped: () => held?.stopped.aborted,
    }
  }
  const look = (givesWay: ReturnType<typeof process>, pausing: Pausing = (wait) => wait(), insists = false) =>
    createGiveWay(givesWay, 'job', jobId)(givesWay.interrupt, pausing, insists)
  return { ledger, clock, dead, told, remedies, want, process, look, jobId }
}

const never = (): never => {
  throw new Error('it was to be refused')
}

describe('who wants a job', () => {
  it.each([
    ['an ordinary run', false],
    ['a backfill', true],
  ])('is refused at once where it is of the same kind: %s', async (_what, givesWay) => {
    const { want, remedies } = await scene()
    const first = want('a:1', givesWay)
    expect(await first.over).toBe('held at 0')
    expect(await want('b:2', givesWay).over).toBe('job-held')
    for (const what of ['watch', 'stop']) expect(remedies.join()).toContain(`waybill ${what} run of a:1\``)
    await first.release()
  })

  it('waits for a backfill, which sees that, and goes first', async () => {
    const { want, clock, told, look } = await scene()
    const filling = want('a:1', true)
    await filling.over
    await look(filling.deps)
    const nightly = want('b:2', false)
    await clock.moveTo(at(5))
    await expect(look(filling.deps)).rejects.toMatchObject({ code: 'gave-way' })
    await filling.release()
    const again = want('a:1', true)
    await clock.moveTo(at(20))
    expect(await nightly.over).toBe('held at 6')
    await nightly.release()
    await clock.moveTo(at(40))
    expect(await again.over).toBe('held at 21')
    await look(again.deps)
    await again.release()
    expect(told).toEqual(['b:2 waits for job by a:1', 'a:1 waits for job by b:2'])
  })

  it('is a backfill that waits for a run that is on', async () => {
    const { want, clock } = await scene()
    const nightly = want('a:1', false)
    await nightly.over
    const filling = want('b:2', true)
    await clock.moveTo(at(30))
    await nightly.release()
    await clock.moveTo(at(32))
    expect(await filling.over).toBe('held at 31')
    await filling.release()
  })

  it('is one of two that have asked: the other one has it after the first, and is refused nothing', async () => {
    const { want, clock } = await scene()
    const filling = want('a:1', true)
    await filling.over
    const both = [want('b:2', false), want('c:3', false)]
    await clock.moveTo(at(2))
    await filling.release()
    await clock.moveTo(at(10))
    const again = want('a:1', true)
    const first = await Promise.race(both.map((one) => one.over.then(() => one)))
    expect(await want('d:4', false).over).toBe('job-held')
    await first.release()
    await clock.moveTo(at(20))
    const ends = await Promise.all(both.map(({ over }) => over))
    expect(ends.toSorted()).toEqual(['held at 11', expect.stringMatching(/^held at [23]$/)])
    for (const one of both) await one.release()
    await clock.moveTo(at(30))
    expect(await again.over).toBe('held at 21')
    await again.release()
  })

  it.each([
    ['seen to be dead', true, 11],
    ['not heard of for a minute', false, 10 + LEASE_MS / 1_000],
  ])('and is killed while it waits holds nobody up: %s', async (_how, seen, seconds) => {
    const { want, clock, dead, ledger, jobId } = await scene()
    await ledger.way.ask({ jobId, owner: 'b:2', now: at(10), ttlMs: LEASE_MS })
    const filling = want('a:1', true)
    await clock.moveTo(at(10))
    if (seen) dead.add('b:2')
    await clock.moveTo(at(seconds + 1))
    expect(await filling.over).toBe(`held at ${seconds}`)
    // What has run out is not kept.
    const left = await ledger.way.waiter(jobId, at(0), () => false)
    expect(left?.owner).toBe(seen ? 'b:2' : undefined)
    await filling.release()
  })

  it('has it for as long as it lives: the lease is renewed before it runs out', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { want, clock } = await scene()
    const first = want('a:1', false)
    await first.over
    for (let seconds = 5; seconds <= (5 * LEASE_MS) / 1_000; seconds += 5) {
      await clock.moveTo(at(seconds))
      vi.advanceTimersByTime(5_000)
      expect(await want('b:2', false).over).toBe('job-held')
    }
    expect(first.isLost()).toBe(false)
    await first.release()
    expect(vi.getTimerCount()).toBe(0)
    const next = want('b:2', false)
    expect(await next.over).toMatch(/^held/)
    await next.release()
  })

  it('lets it go for good, though a renewal is under way', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { want } = await scene()
    const first = want('a:1', false)
    await first.over
    vi.advanceTimersByTime(LEASE_MS / 4)
    await first.release()
    await new Promise((resolve) => setImmediate(resolve))
    const next = want('b:2', false)
    expect(await next.over).toBe('held at 0')
    expect(first.isLost()).toBe(false)
    await next.release()
  })

  it('takes over from a backfill that was killed', async () => {
    const { want, clock, dead } = await scene()
    await want('a:1', true).over
    const nightly = want('b:2', false)
    await clock.moveTo(at(5))
    dead.add('a:1')
    await clock.moveTo(at(8))
    expect(await nightly.over).toBe('held at 6')
    await nightly.release()
  })

  it('is one of two backfills behind a run: one has the job after it, and the other is refused', async () => {
    const { want, clock } = await scene()
    const nightly = want('a:1', false)
    await nightly.over
    const both = [want('b:2', true), want('c:3', true)]
    await clock.moveTo(at(5))
    await nightly.release()
    await clock.moveTo(at(8))
    expect((await Promise.all(both.map(({ over }) => over))).toSorted()).toEqual(['held at 6', 'job-held'])
    for (const one of both) await one.release()
  })

  it('is not stopped by who stops the next holder of the job', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { want, clock, dead, ledger, jobId } = await scene()
    const first = want('a:1', false)
    await first.over
    dead.add('a:1')
    await clock.moveTo(at(5))
    const next = want('b:2', false)
    await next.over
    const run = {
      ...{ id: 'run of b:2', jobId, startedAt: at(5), rejectsPath: 'rejects', receiptsPath: 'receipts' },
    }
    await ledger.runs.start(await next.lease(), run)
    const person = { by: 'ann', note: null, at: at(5) }
    expect(await ledger.leases.stop(run.id, person, (one) => dead.has(one))).toBe(true)
    vi.advanceTimersByTime(1_000)
    await expect.poll(() => next.isStopped()).toBe(true)
    expect(first.isStopped()).toBe(false)
    await next.release()
    await first.release()
  })

  it('waits no more once it is interrupted, and has not asked', async () => {
    const { want, clock, ledger, jobId } = await scene()
    const filling = want('a:1', true)
    await filling.over
    const nightly = want('b:2', false)
    await clock.moveTo(at(5))
    nightly.deps.stop()
    expect(await nightly.over).toBe('interrupted')
    expect(await ledger.way.waiter(jobId, at(5), () => false)).toBeUndefined()
    await filling.release()
  })
})

describe('a backfill looks before each chunk', () => {
  it('and waits while another job is run at the gateway, but for a backfill', async () => {
    const { ledger, clock, process, look, told } = await scene()
    const other = await ledger.jobs.id('other', 'gateway')
    const busy = { jobId: other, runId: 'run-7', owner: 'b:2', ttlMs: 3_600_000 }
    const filling = process('a:1')
    const pauses: number[] = []
    const pausing: Pausing = async (wait) => {
      const since = clock.now()
      await wait()
      pauses.push((clock.now() - since) / 1_000)
    }
    await ledger.leases.acquire({ ...busy, now: START, givesWay: true }, () => true)
    await look(filling, pausing)
    expect(pauses).toEqual([])
    const answer = await ledger.leases.acquire({ ...busy, now: START }, () => true)
    let over = false
    const waits = look(filling, pausing).then(() => {
      over = true
    })
    await clock.moveTo(at(30))
    expect(over).toBe(false)
    expect(told).toEqual(['a:1 waits for other by b:2'])
    if (answer.ok) await ledger.leases.release(answer.lease)
    await clock.moveTo(at(32))
    await waits
    // It looks once a second.
    expect(pauses).toEqual([31])
    await look(filling)
  })

  it('and tells each job that it waits for, once', async () => {
    const { ledger, clock, process, look, told } = await scene()
    const [one, other] = [await ledger.jobs.id('one', 'gateway'), await ledger.jobs.id('other', 'gateway')]
    const busy = { now: START, ttlMs: FAR }
    const first = await ledger.leases.acquire(
      { ...busy, jobId: one, runId: 'run-7', owner: 'b:2' },
      () => true,
    )
    const waits = look(process('a:1'))
    await clock.moveTo(at(5))
    const second = await ledger.leases.acquire(
      { ...busy, jobId: other, runId: 'run-8', owner: 'c:3' },
      () => true,
    )
    if (first.ok) await ledger.leases.release(first.lease)
    await clock.moveTo(at(10))
    if (second.ok) await ledger.leases.release(second.lease)
    await clock.moveTo(at(12))
    await waits
    expect(told).toEqual(['a:1 waits for one by b:2', 'a:1 waits for other by c:3'])
  })

  it('and gives way to its own job also while it waits for another one', async () => {
    const { ledger, clock, process, look, jobId } = await scene()
    const other = await ledger.jobs.id('other', 'gateway')
    await ledger.leases.acquire(
      { jobId: other, runId: 'run-7', owner: 'b:2', now: START, ttlMs: 3_600_000 },
      () => true,
    )
    const ends = look(process('a:1')).then(never, (error) => String(error.code))
    await clock.moveTo(at(5))
    await ledger.way.ask({ jobId, owner: 'c:3', now: at(5), ttlMs: LEASE_MS })
    await clock.moveTo(at(7))
    expect(await ends).toBe('gave-way')
  })

  it('and goes on for a chunk where it has just given way in vain, unless it would have to wait itself', async () => {
    const { ledger, process, look, jobId } = await scene()
    await ledger.way.ask({ jobId, owner: 'c:3', now: START, ttlMs: LEASE_MS })
    const insists = () => look(process('a:1'), (wait) => wait(), true)
    await insists()
    const other = await ledger.jobs.id('other', 'gateway')
    await ledger.leases.acquire(
      { jobId: other, runId: 'r', owner: 'b:2', now: START, ttlMs: FAR },
      () => true,
    )
    expect(await insists().then(never, (error) => String(error.code))).toBe('gave-way')
  })

  it('and waits no more once it is stopped', async () => {
    const { ledger, clock, process, jobId } = await scene()
    const other = await ledger.jobs.id('other', 'gateway')
    await ledger.leases.acquire(
      { jobId: other, runId: 'r', owner: 'b:2', now: START, ttlMs: FAR },
      () => true,
    )
    const stopping = new AbortController()
    const ends = createGiveWay(process('a:1'), 'job', jobId)(stopping.signal, (wait) => wait(), false).then(
      never,
      (error) => error,
    )
    await clock.moveTo(at(5))
    stopping.abort(new Error('lost'))
    expect(await ends).toMatchObject({ message: 'lost' })
  })
})
