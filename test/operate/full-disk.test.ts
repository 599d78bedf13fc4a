/** A home on a disk that is really full: a small file system of its own, mounted where that is permitted. */
import { rmSync } from 'node:fs'
import { readdir, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ANN, BEN, type Clinic, HEADER, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { mountDisk, NEEDS_MOUNTS } from '../faults/mounted-disk.ts'

interface SmallDisk {
  readonly clinic: Clinic
  readonly home: string
  /** Writes until nothing more goes. */
  fill(): Promise<void>
  /** In bytes. */
  free(): Promise<number>
}

async function openSmallDisk(least = '1MiB'): Promise<SmallDisk> {
  const disk = mountDisk('24m')?.folder ?? ''
  const home = join(disk, 'home')
  const clinic = await openClinic({ environment: { WAYBILL_HOME: home, WAYBILL_MIN_FREE: least } })
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(disk)
    return bavail * bsize
  }
  return {
    clinic,
    home,
    free,
    async fill() {
      await writeFile(join(disk, 'others'), Buffer.alloc(await free()))
      expect(await free()).toBe(0)
    },
  }
}

const NIGHTS = ['2026-03-01', '2026-03-02', '2026-03-03']

describe('on a full disk', NEEDS_MOUNTS, () => {
  it('what reads reads, a run says what is wrong, and pruning makes room for the next', async () => {
    const { clinic, home, fill, free } = await openSmallDisk()
    const { waybill } = clinic.workplace
    const runs: string[] = []
    for (const night of NIGHTS) {
      await clinic.deliver(
        `${night}.csv`,
        `${HEADER}${(ANN + BEN).replaceAll('2026-03-02', night)}x,y,,,,,\n`,
      )
      runs.push(
        summaryOf(await clinic.run('--file', join(clinic.workplace.folder, 'inbox', `${night}.csv`))).run,
      )
    }
    await fill()

    const listed = JSON.parse((await waybill('runs', '--json')).out)
    expect(listed.runs.map(({ run }: { run: string }) => run)).toEqual(runs.toReversed())
    expect((await waybill('show', runs[0] ?? '')).out).toContain('read 3 = mapped 2 + skipped 0 + rejected 1')
    const looked = await waybill('doctor')
    expect(looked.out).toMatch(/problem {2}home {6}0 bytes free on its disk/)
    expect(looked.out).toMatch(/ok {7}ledger {4}intact/)
    expect(looked.out).not.toContain('damaged')

    await clinic.deliver('2026-03-04.csv', `${HEADER}${ANN.replace('2026-03-02', '2026-03-04')}`)
    const refused = await clinic.run()
    expect(refused.code).toBe(2)
    expect(JSON.parse(refused.out).error).toMatchObject({ code: 'disk-full' })

    const pruned = JSON.parse((await waybill('prune', '--older-than', '0d', '--json')).out)
    expect(pruned.runs).toEqual(runs.toReversed())
    expect(await free()).toBeGreaterThan(1024 * 1024)
    expect(await readdir(join(home, 'receipts'))).toEqual([])
    expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ accepted: 3 })
  })

  it('a run does not begin with less room than the settings ask for', async () => {
    const { clinic, home } = await openSmallDisk('64MiB')
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    const { code, out } = await clinic.run()
    expect(code).toBe(2)
    const { error } = JSON.parse(out)
    expect(error.code).toBe('disk-full')
    expect(error.message).toMatch(
      /has 2\d\.\d MB left, and a run begins only with 67\.1 MB \(WAYBILL_MIN_FREE\)$/,
    )
    expect(await clinic.stored()).toEqual([])
    expect(await readdir(home)).not.toContain('reserve')
    expect(JSON.parse((await clinic.workplace.waybill('runs', '--json')).out).runs).toEqual([])
  })

  it('a run that meets it half-way says so, and goes on where it stopped', async () => {
    const { clinic, home, fill } = await openSmallDisk('1KiB')
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    await clinic.run()
    // The reserve keeps its room; a run does not touch it.
    expect((await stat(join(home, 'reserve'))).size).toBe(8 * 1024 * 1024)
    await clinic.deliver('b.csv', HEADER + BEN.replace('ben', 'carl'))
    await fill()
    const met = await clinic.run()
    expect(met.code).toBe(2)
    expect(JSON.parse(met.out)).toMatchObject({ error: { code: 'disk-full' } })
    rmSync(join(home, '../others'))
    const after = summaryOf(await clinic.run())
    expect(after.balanced).toBe(true)
    expect(await clinic.stored()).toContain('carl heart-rate 62')
  })
})
