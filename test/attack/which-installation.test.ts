import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { ended, summaryOf } from '../cli/command-line.ts'
import { PASS, type Passing } from '../faults/fault-proxy.ts'

const LEDGER = ['ledger.sqlite', 'ledger.sqlite-wal', 'ledger.sqlite-shm']

/** A clinic that has delivered two people; each request that writes is counted. */
async function delivered(options: Parameters<typeof openClinic>[0] = {}) {
  const writes = { count: 0 }
  const faultOf = ({ method }: Passing) => {
    if (method !== 'GET') writes.count++
    return PASS
  }
  const clinic = await openClinic({ faultOf, ...options })
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
  writes.count = 0
  return { ...clinic, writes }
}

async function loseLedger({ workplace }: Clinic): Promise<void> {
  for (const name of LEDGER) await rm(join(workplace.home, name), { force: true })
}

/** Code of the error, and what to do about it. */
function errorOf({ code, out }: { readonly code: number | null; readonly out: string }) {
  const { error } = JSON.parse(out)
  return { exit: code, code: error.code as string, remedy: error.remedy as string }
}

const doctorOf = async ({ workplace }: Clinic, check: string) => {
  const { code, out } = await workplace.waybill('doctor', '--json')
  const { findings } = JSON.parse(out)
  return {
    code,
    findings: findings.filter(
      (one: { check: string; level: string }) => one.check === check && one.level !== 'ok',
    ),
  }
}

describe('another key', () => {
  test.each(['a key file that was replaced', 'WAYBILL_KEY'] as const)(
    'is refused, by every command that recognises by hash, and sends nothing: %s',
    async (how) => {
      const clinic = await delivered()
      const { workplace, writes } = clinic
      const key = join(workplace.home, 'key')
      const old = await readFile(key, 'utf8')
      const { run } = JSON.parse((await workplace.waybill('runs', '--json')).out).runs[0]
      if (how === 'WAYBILL_KEY') workplace.environment['WAYBILL_KEY'] = 'another key, set by hand'
      else await writeFile(key, `${'f'.repeat(64)}\n`, { mode: 0o600 })
      const refused = errorOf(await clinic.run())
      expect(refused).toMatchObject({ exit: 2, code: 'key-differs' })
      expect(refused.remedy).toContain('waybill run JOB --new-key')
      for (const words of [
        ['run', 'clinic', '--dry-run'],
        ['run', 'clinic', '--look-first'],
        ['run', 'clinic', '--new-ledger'],
        ['rerun', run],
        ['reconcile', run, '--verify'],
      ])
        expect(errorOf(await workplace.waybill(...words, '--json'))).toMatchObject({
          exit: 2,
          code: 'key-differs',
        })
      expect(writes.count).toBe(0)
      expect(await doctorOf(clinic, 'key')).toMatchObject({ code: 2, findings: [{ level: 'problem' }] })
      if (how === 'WAYBILL_KEY') delete workplace.environment['WAYBILL_KEY']
      else await writeFile(key, old)
      expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
      expect(await clinic.stored()).toEqual(GOOD)
    },
  )

  test('is taken with --new-key, which looks before it sends: known records are found, new ones are sent', async () => {
    const clinic = await delivered()
    const { workplace } = clinic
    await rename(join(workplace.home, 'key'), join(workplace.folder, 'old-key'))
    await clinic.deliver('day-2.csv', `${HEADER}${BEN.replaceAll('ben', 'cid')}`)
    const first = summaryOf(await clinic.run('--new-key'))
    expect(first.records.biometric).toMatchObject({
      made: 9,
      accepted: 3,
      unchanged: 6,
      inDoubt: 0,
      rejected: 0,
    })
    expect(await clinic.stored()).toHaveLength(9)
    expect(await readFile(join(workplace.home, 'key'), 'utf8')).not.toBe(
      await readFile(join(workplace.folder, 'old-key'), 'utf8'),
    )
    // From then on the new key is that of the ledger, and the old one another.
    const second = summaryOf(await clinic.run())
    expect(second.requests).toMatchObject({ sent: 0, readBack: 0 })
    await copyFile(join(workplace.folder, 'old-key'), join(workplace.home, 'key'))
    expect(errorOf(await clinic.run())).toMatchObject({ code: 'key-differs' })
  })

  test('is not taken while a run is unfinished: what is in flight is known by the old key', async () => {
    let isLost = true
    const faultOf = ({ method }: Passing) =>
      isLost && method !== 'GET' ? ({ do: 'pass-then-reset' } as const) : PASS
    const clinic = await openClinic({
      faultOf,
      job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\nsubmit: { patience: 0s }\n',
    })
    await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
    expect((await clinic.run()).code).toBe(3)
    isLost = false
    const key = join(clinic.workplace.home, 'key')
    const old = await readFile(key, 'utf8')
    await writeFile(key, `${'f'.repeat(64)}\n`)
    const refused = errorOf(await clinic.run('--new-key'))
    expect(refused).toMatchObject({ exit: 2, code: 'run-unfinished' })
    expect(refused.remedy).toMatch(/waybill resolve \S+ --give-up/)
    await rm(key)
    expect(errorOf(await clinic.run('--new-key'))).toMatchObject({ code: 'run-unfinished' })
    expect(existsSync(key)).toBe(false)
    await writeFile(key, old, { mode: 0o600 })
    await clinic.workplace.job('clinic', JOB)
    expect((await clinic.run()).code).toBe(0)
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('a missing key is found by doctor, and no other is made in its place', async () => {
    const clinic = await delivered()
    const key = join(clinic.workplace.home, 'key')
    await rm(key)
    const { code, findings } = await doctorOf(clinic, 'key')
    expect([code, findings]).toMatchObject([2, [{ level: 'problem' }]])
    expect((await clinic.run()).code).toBe(2)
    expect(existsSync(key)).toBe(false)
    expect(clinic.writes.count).toBe(0)
  })

  test('of a process that began with the old one begins no run after it was changed', async () => {
    const clinic = await delivered()
    const file = join(clinic.workplace.home, 'ledger.sqlite')
    const [old, other] = [await openLedger(file), await openLedger(file)]
    onTestFinished(async () => {
      await old.close()
      await other.close()
    })
    const { fingerprint = '' } = (await old.installation.key()) ?? {}
    await old.installation.useKey(fingerprint, undefined)
    await other.installation.useKey('another one', 1)
    const request = { jobId: 1, runId: 'next', owner: 'me', now: Date.now(), ttlMs: 1_000 }
    const answer = await old.leases.acquire(request, () => false)
    const lease = answer.ok ? answer.lease : expect.fail('held')
    const start = { id: 'next', jobId: 1, startedAt: 1, rejectsPath: 'r', receiptsPath: 'r' }
    await expect(old.runs.start(lease, start)).rejects.toMatchObject({ code: 'key-differs' })
    await old.leases.release(lease)
  })
})

describe('a home with history and no ledger', () => {
  test.each(['receipts and rejects', 'a key', 'an empty ledger file'] as const)(
    'is refused: %s',
    async (what) => {
      const clinic = await delivered()
      const { workplace, writes } = clinic
      await loseLedger(clinic)
      const { home } = workplace
      if (what === 'a key')
        for (const name of ['receipts', 'rejects'])
          await rm(join(home, name), { recursive: true, force: true })
      if (what === 'receipts and rejects') await rm(join(home, 'key'))
      if (what === 'an empty ledger file') await writeFile(join(home, 'ledger.sqlite'), '')
      // The first refusal must not make the second run pass; nor may a command that only writes something down.
      for (const words of [['run'], ['run', '--dry-run'], ['pause'], ['run']]) {
        const [command = '', ...more] = words
        const refused = errorOf(await workplace.waybill(command, 'clinic', ...more, '--json'))
        expect(refused).toMatchObject({ exit: 2, code: 'ledger-missing' })
        for (const way of ['waybill restore FILE', '--look-first', '--new-ledger'])
          expect(refused.remedy).toContain(way)
      }
      expect(writes.count).toBe(0)
      expect(await doctorOf(clinic, 'ledger')).toMatchObject({ code: 2, findings: [{ level: 'problem' }] })
      const looked = summaryOf(await clinic.run('--look-first'))
      expect(looked.records.biometric).toMatchObject({
        accepted: 0,
        unchanged: 6,
        inDoubt: 0,
      })
      expect(await clinic.stored()).toEqual(GOOD)
    },
  )

  test('of which a backup was made is refused, though nothing else is left of it', async () => {
    const clinic = await delivered({ environment: { WAYBILL_KEY: 'a key that stays the same' } })
    const { workplace } = clinic
    expect((await workplace.waybill('backup', 'copy.sqlite')).code).toBe(0)
    for (const name of await readdir(workplace.home))
      if (name !== 'last-backup') await rm(join(workplace.home, name), { recursive: true })
    expect(errorOf(await clinic.run())).toMatchObject({ exit: 2, code: 'ledger-missing' })
  })

  test('is begun anew where a person says so', async () => {
    const clinic = await delivered()
    await loseLedger(clinic)
    await rm(join(clinic.workplace.home, 'receipts'), { recursive: true })
    expect(summaryOf(await clinic.run('--new-ledger')).records.biometric).toMatchObject({ accepted: 6 })
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
  })

  test('what was said with --look-first holds for whoever goes on with a run that was killed', async () => {
    const clinic = await delivered()
    await loseLedger(clinic)
    let isAway = true
    const away = await openClinic({
      store: clinic.store,
      faultOf: () => (isAway ? ({ do: 'reset' } as const) : PASS),
    })
    await rm(away.workplace.home, { recursive: true, force: true })
    await rename(clinic.workplace.home, away.workplace.home)
    await away.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
    await away.workplace.job(
      'clinic',
      'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\nsubmit: { patience: 0s }\n',
    )
    expect((await away.run('--look-first')).code).toBe(3)
    isAway = false
    expect(summaryOf(await away.run()).records.biometric).toMatchObject({ accepted: 0, unchanged: 6 })
    expect(await away.stored()).toEqual(GOOD)
  })

  test('a dry run, a preview and a pause of a new folder leave nothing that a first run is refused for', async () => {
    const clinic = await openClinic()
    const file = await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
    expect((await clinic.run('--dry-run')).code).toBe(0)
    expect((await clinic.workplace.waybill('mapping', 'preview', 'clinic', file)).code).toBe(0)
    expect((await clinic.workplace.waybill('pause', 'clinic')).code).toBe(0)
    expect((await clinic.run()).code).toBe(0)
    expect((await clinic.run()).code).toBe(0)
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('two processes that begin in a new folder at once are both taken for what they are', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
    const codes = await Promise.all(
      [1, 2].map(async () => (await ended(clinic.workplace.start('run', 'clinic', '--json'))).code),
    )
    // One of them holds the job, or comes when all is done.
    for (const code of codes) expect([0, 5]).toContain(code)
    expect(await clinic.stored()).toEqual(GOOD)
  })
})

describe('a new ledger in an empty home', () => {
  /** Another home with the same key, or with another, beside the exports of the first one. */
  async function moved(key: 'same' | 'other') {
    const clinic = await delivered()
    const { workplace } = clinic
    const home = join(workplace.folder, 'new-home')
    await mkdir(home)
    const old = (await readFile(join(workplace.home, 'key'), 'utf8')).trim()
    workplace.environment['WAYBILL_HOME'] = home
    if (key === 'same') workplace.environment['WAYBILL_KEY'] = old
    return { ...clinic, home, firstHome: workplace.home }
  }

  test('is refused where a profile shows an id that this key makes for the same row, run after run', async () => {
    const clinic = await moved('same')
    for (const _ of [1, 2]) {
      const refused = errorOf(await clinic.run())
      expect(refused).toMatchObject({ exit: 2, code: 'ledger-missing' })
      expect(refused.remedy).toContain('waybill restore FILE')
    }
    expect(clinic.writes.count).toBe(0)
    expect(summaryOf(await clinic.run('--look-first')).records.biometric).toMatchObject({
      accepted: 0,
      unchanged: 6,
    })
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('is refused, too, where the same rows come under another file', async () => {
    const clinic = await moved('same')
    await clinic.deliver('day-1.csv', `${HEADER}${BEN}${ANN}`)
    expect(errorOf(await clinic.run())).toMatchObject({ code: 'ledger-missing' })
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('warns of ids of the form of ours that another key has made', async () => {
    const clinic = await moved('other')
    const { code, err } = await clinic.run()
    expect(code).toBe(0)
    expect(err).toContain('with another key')
    expect(err).toContain('--new-key')
    // What it suggests is taken, though that key is the ledger's by now.
    const stored = await clinic.stored()
    await clinic.deliver('day-1.csv', `${HEADER}${BEN}${ANN}`)
    expect(summaryOf(await clinic.run('--new-key')).records.biometric).toMatchObject({ accepted: 0 })
    expect(await clinic.stored()).toEqual(stored)
  })

  test('with --new-key what stands there by a key that is lost is found', async () => {
    const clinic = await moved('other')
    await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}${BEN.replaceAll('ben', 'cid')}`)
    expect(summaryOf(await clinic.run('--new-key')).records.biometric).toMatchObject({
      accepted: 3,
      unchanged: 6,
      inDoubt: 0,
    })
    expect(await clinic.stored()).toHaveLength(9)
  })

  test('is refused, too, where the first chunk of the export has no records', async () => {
    const clinic = await moved('same')
    const absent = Array.from({ length: CHUNK_SIZE.rows }, (_, at) => `x${at},2026-03-02,,,,,none\n`)
    await clinic.deliver('day-1.csv', `${HEADER}${absent.join('')}${ANN}${BEN}`)
    expect(errorOf(await clinic.run())).toMatchObject({ code: 'ledger-missing' })
    expect(clinic.writes.count).toBe(0)
  })

  test('of people whom nobody has delivered is not held up, nor warned of', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
    const { code, err } = await clinic.run()
    expect([code, err]).toEqual([0, expect.not.stringContaining('another key')])
  })
})

describe('waybill restore', () => {
  async function backedUp() {
    const clinic = await delivered()
    const { workplace } = clinic
    expect((await workplace.waybill('backup', 'copy.sqlite')).code).toBe(0)
    await clinic.deliver('day-2.csv', `${HEADER}${BEN.replaceAll('ben', 'cid')}`)
    expect((await clinic.run()).code).toBe(0)
    return clinic
  }
  const restore = ({ workplace }: Clinic, file = 'copy.sqlite') =>
    workplace.waybill('restore', file, '--json')

  test('puts a backup back and marks it as a copy: what was delivered after it is looked for, not sent again', async () => {
    const clinic = await backedUp()
    const { home } = clinic.workplace
    await loseLedger(clinic)
    // What is left of the lost one beside the new file would be taken for its own.
    await writeFile(join(home, 'ledger.sqlite-wal'), 'left behind')
    const { code, out } = await restore(clinic)
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      ledger: join(home, 'ledger.sqlite'),
      ...{
        unknownRuns: [expect.any(String)],
        gateways: [clinic.workplace.environment['WAYBILL_GATEWAY_URL']],
      },
    })
    expect((await doctorOf(clinic, 'ledger')).findings).toEqual([])
    const { records } = summaryOf(await clinic.run())
    expect(records.biometric).toMatchObject({ accepted: 0, unchanged: 9, inDoubt: 0 })
    expect(await clinic.stored()).toHaveLength(9)
  })

  test('says what it cannot know', async () => {
    const clinic = await backedUp()
    await loseLedger(clinic)
    const { out } = await clinic.workplace.waybill('restore', 'copy.sqlite')
    expect(out).toContain('1 run')
    expect(out).toContain('read profiles before they send')
  })

  test('marks also what was copied by hand, which bears no mark', async () => {
    const clinic = await delivered()
    const { workplace } = clinic
    await copyFile(join(workplace.home, 'ledger.sqlite'), join(workplace.folder, 'by-hand.sqlite'))
    await clinic.deliver('day-2.csv', `${HEADER}${BEN.replaceAll('ben', 'cid')}`)
    await clinic.run()
    await loseLedger(clinic)
    expect((await restore(clinic, 'by-hand.sqlite')).code).toBe(0)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0, unchanged: 9 })
  })

  test.each([
    ['no database', async (file: string) => writeFile(file, 'nothing of ours'), 'backup-unusable'],
    [
      'a file that was cut off',
      async (file: string) => writeFile(file, (await readFile(file)).subarray(0, 40_960)),
      'backup-unusable',
    ],
    ['nothing', (file: string) => rm(file), 'usage-wrong'],
  ] as const)('refuses %s, and leaves the home as it was', async (_name, damage, code) => {
    const clinic = await backedUp()
    await loseLedger(clinic)
    await damage(join(clinic.workplace.folder, 'copy.sqlite'))
    const before = await readdir(clinic.workplace.home)
    expect(errorOf(await restore(clinic))).toMatchObject({ exit: 2, code })
    expect(await readdir(clinic.workplace.home)).toEqual(before)
    expect(errorOf(await clinic.run())).toMatchObject({ code: 'ledger-missing' })
  })

  test('refuses a backup that was made with another key, or whose key is not there', async () => {
    const clinic = await backedUp()
    await loseLedger(clinic)
    const key = join(clinic.workplace.home, 'key')
    const old = await readFile(key, 'utf8')
    await rm(key)
    expect(errorOf(await restore(clinic))).toMatchObject({ exit: 2, code: 'key-differs' })
    expect(existsSync(key)).toBe(false)
    await writeFile(key, `${'f'.repeat(64)}\n`, { mode: 0o600 })
    expect(errorOf(await restore(clinic))).toMatchObject({ exit: 2, code: 'key-differs' })
    await writeFile(key, old)
    expect((await restore(clinic)).code).toBe(0)
  })

  test('refuses a backup of runs at another gateway', async () => {
    const clinic = await backedUp()
    await loseLedger(clinic)
    clinic.workplace.environment['WAYBILL_GATEWAY_URL'] = 'https://gateway.example'
    expect(errorOf(await restore(clinic))).toMatchObject({ exit: 2, code: 'gateway-differs' })
  })

  test('takes no ledger away that knows something, and puts one aside that knows nothing or is damaged', async () => {
    const clinic = await backedUp()
    const { home } = clinic.workplace
    expect(errorOf(await restore(clinic))).toMatchObject({ exit: 2, code: 'usage-wrong' })
    expect(summaryOf(await clinic.run()).requests.sent).toBe(0)
    await loseLedger(clinic)
    await writeFile(join(home, 'ledger.sqlite'), 'scrambled')
    const restored = await restore(clinic)
    expect(restored.code).toBe(0)
    const { aside } = JSON.parse(restored.out)
    expect(await readFile(aside, 'utf8')).toBe('scrambled')
    expect((await clinic.run()).code).toBe(0)
    expect(await clinic.stored()).toHaveLength(9)
  })

  test('takes the place of a ledger that a refused run has begun', async () => {
    const clinic = await backedUp()
    const { workplace } = clinic
    const home = join(workplace.folder, 'new-home')
    await mkdir(home)
    workplace.environment['WAYBILL_KEY'] = (await readFile(join(workplace.home, 'key'), 'utf8')).trim()
    workplace.environment['WAYBILL_HOME'] = home
    expect(errorOf(await clinic.run())).toMatchObject({ code: 'ledger-missing' })
    expect((await restore(clinic)).code).toBe(0)
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 0, unchanged: 9 })
    expect(await clinic.stored()).toHaveLength(9)
  })
})
