/** Nobody reads standard error any more, or the disk under it is full: commands do what they do, and end as they would have. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createWorkplace, INHERITED, PROJECT, type Workplace } from './command-line.ts'

const JOB = `schedule: { cron: "0 0 1 1 *", zone: Etc/UTC, missed: once }
exports: { from: ../inbox, match: "*.csv" }
mapping: acme-onsite
`

/** With standard error as the test has it; all else is read. */
function start({ folder, environment }: Workplace, stderr: 'pipe' | number, ...args: string[]) {
  const child = spawn(process.execPath, [join(PROJECT, 'bin/waybill.js'), ...args], {
    cwd: folder,
    env: { ...INHERITED, ...environment },
    stdio: ['ignore', 'ignore', stderr],
  })
  child.stderr?.destroy()
  return child
}

async function standardErrors(): Promise<('pipe' | number)[]> {
  // Linux has a file for it that is always full.
  const full = await open('/dev/full', 'w').catch(() => undefined)
  if (full === undefined) return ['pipe']
  onTestFinished(() => full.close())
  return ['pipe', full.fd]
}

it('a run that is refused ends with the same exit code', async () => {
  const workplace = await createWorkplace()
  await workplace.job('clinic', JOB)
  const { code: expected } = await workplace.waybill('run', 'clinic')
  expect(expected).toBe(2)
  for (const stderr of await standardErrors()) {
    const [code] = await once(start(workplace, stderr, 'run', 'clinic'), 'exit')
    expect(code, String(stderr)).toBe(expected)
  }
})

it('nor does a run become a clean one because nobody reads its summary', async () => {
  const workplace = await createWorkplace()
  await workplace.job('clinic', JOB)
  const child = workplace.start('run', 'clinic', '--json')
  child.stdout?.destroy()
  expect((await once(child, 'exit'))[0]).toBe(2)
})

it('a schedule is kept, and ended by SIGTERM', async () => {
  const workplace = await createWorkplace({ WAYBILL_LOG_FILE: 'waybill.log' })
  await workplace.job('clinic', JOB)
  // Each line goes to the log and to standard error: the second one is written by a process that has outlived the first.
  const scheduled = async (): Promise<number> =>
    (await readFile(join(workplace.folder, 'waybill.log'), 'utf8').catch(() => '')).split('"scheduled ')
      .length - 1
  for (const [at, stderr] of (await standardErrors()).entries()) {
    const child = start(workplace, stderr, 'schedule')
    const over = once(child, 'exit')
    await vi.waitFor(async () => expect(await scheduled()).toBe(at + 1), { timeout: 60_000 })
    child.kill('SIGTERM')
    expect((await over)[0], String(stderr)).toBe(0)
  }
})
