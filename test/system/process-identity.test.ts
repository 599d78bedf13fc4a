import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processName } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { identify, processTable } from '../../src/system/process-identity.ts'
import { NEEDS_PROC } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type ProcessTable = ReturnType<typeof processTable>

/** A namespace with processes by their numbers and starts. */
const namespace = (place: string | undefined, processes: Record<number, string>): ProcessTable => ({
  place,
  isThere: (pid) => pid in processes,
  begunAt: (pid) => processes[pid],
})

const identityIn = (place: string | undefined, processes: Record<number, string>, pid = 1, token = 'aa') =>
  identify('waybill', pid, token, namespace(place, processes))

test('an owner is shown as host and number', () => {
  const { owner } = identityIn('b1', { 1: '500' })
  expect(owner).toBe('waybill:1#b1.500')
  expect([owner, identityIn(undefined, {}).owner, 'old:7'].map(processName)).toEqual([
    'waybill:1',
    'waybill:1',
    'old:7',
  ])
})

describe('a process is known to be gone', () => {
  const { owner } = identityIn('b1', { 7: '500' }, 7)

  test.each([
    ['when its number is no process any more', 'b1', { 1: '100' }, true],
    ['when its number is another process, begun at another time', 'b1', { 1: '100', 7: '900' }, true],
    ['not while it lives', 'b1', { 1: '100', 7: '500' }, false],
    ['not from where its number means another process', 'b2', { 1: '100' }, false],
    ['not where it cannot be told when a process was begun', 'b1', { 7: '' }, false],
    ['not where nothing is known of the machine', undefined, { 1: '100' }, false],
  ] as const)('%s', (_, place, processes, gone) => {
    const table = namespace(place, processes)
    const begunAt = (pid: number): string | undefined => table.begunAt(pid) || undefined
    expect(identify('waybill', 1, 'aa', { ...table, begunAt }).isDead(owner)).toBe(gone)
  })

  test('a container that is started again knows that the one before is gone, and is not taken for it', () => {
    // Of one name, its only process has the number 1, and the kernel gives the namespace's number out again.
    const before = identityIn('b1', { 1: '500' })
    const after = identityIn('b1', { 1: '900' })
    expect(after.owner).not.toBe(before.owner)
    expect(after.isDead(before.owner)).toBe(true)
  })

  test('where the machine tells nothing, chance tells processes apart, and their heartbeat alone that they are gone', () => {
    const one = identityIn(undefined, {}, 1, 'aa')
    const other = identityIn(undefined, {}, 1, 'bb')
    expect(one.owner).not.toBe(other.owner)
    expect([one.isDead(other.owner), one.isDead('waybill:1')]).toEqual([false, false])
  })

  test.each(['b1', undefined])('to itself it is alive: it may run several jobs at once; in %s', (place) => {
    const { owner, isDead } = identityIn(place, { 1: '500' })
    expect(isDead(owner)).toBe(false)
  })
})

test('two containers of one host name and process number keep each other from a job, until one is heard of no more', async () => {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const one = identityIn('b1', { 1: '500' })
  const other = identityIn('b2', { 1: '500' })
  const take = async ({ owner, isDead }: typeof one, now: number): Promise<string> => {
    const asked = { jobId, runId: `run at ${now}`, owner, now, ttlMs: 60_000 }
    const answer = await ledger.leases.acquire(asked, isDead)
    return answer.ok ? 'taken' : `held by ${processName(answer.holder.owner)}`
  }
  expect(await take(one, 0)).toBe('taken')
  expect(await take(other, 59_999)).toBe('held by waybill:1')
  expect(await take(other, 60_000)).toBe('taken')
  // Only the number is the same: the one that was slow is not let in again as itself.
  expect(await take(one, 60_001)).toBe('held by waybill:1')
})

describe('the process table of Linux', () => {
  const STAT = (pid: number, begun: number): string =>
    `${pid} (a) b (c) S ${Array.from({ length: 18 }, (_, at) => at).join(' ')} ${begun} 0 0\n`

  /** A folder as /proc is. @param self whom it says that we are */
  async function proc(self: number): Promise<string> {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'sys/kernel/random'), { recursive: true })
    await writeFile(join(folder, 'sys/kernel/random/boot_id'), '0c2f1c06-75ba-4c35-9f0b-6a4e3a3f5b0e\n')
    await mkdir(join(folder, 'self/ns'), { recursive: true })
    await symlink('pid:[4026531836]', join(folder, 'self/ns/pid'))
    await writeFile(join(folder, 'self/stat'), STAT(self, 100))
    await mkdir(join(folder, '12'))
    await writeFile(join(folder, '12/stat'), STAT(12, 345))
    return folder
  }

  test('says where it is, and when processes were begun, whatever their names', async () => {
    const table = processTable(7, await proc(7))
    expect(table.place).toMatch(/^[0-9a-f]{12}$/)
    expect([table.begunAt(12), table.begunAt(13)]).toEqual(['345', undefined])
  })

  test('says nothing where it is that of another namespace, or not there', async () => {
    const others = processTable(7, await proc(4711))
    const none = processTable(7, join(tmpdir(), 'no-proc-is-here'))
    for (const { place, begunAt } of [others, none])
      expect([place, begunAt(12)]).toEqual([undefined, undefined])
  })

  test('tells at once of a process that was killed', NEEDS_PROC, async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    await once(child, 'spawn')
    const table = processTable(process.pid)
    const here = identify('here', process.pid, 'aa', table)
    const { owner } = identify('here', child.pid ?? 0, 'bb', table)
    expect(here.isDead(owner)).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(here.isDead(owner)).toBe(true)
  })
})
