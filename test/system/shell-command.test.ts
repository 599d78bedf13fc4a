import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runShell } from '../../src/system/shell-command.ts'
import { firstLine, handInTimers } from '../handed-timers.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const environment = { PATH: process.env['PATH'] }
const LONG_MS = 60_000

it('gives all that is printed, and nothing where it is not to be read', async () => {
  const command = 'printf one; sleep 0.1; printf two'
  expect(await runShell({ command, environment, timeoutMs: LONG_MS, isRead: true })).toEqual({
    out: 'onetwo',
  })
  expect(await runShell({ command, environment, timeoutMs: LONG_MS })).toEqual({ out: '' })
})

it.each([
  ['exit 7', 'failed (exit 7)'],
  ['kill -9 $$', 'failed (SIGKILL)'],
])('%s: it %s', async (command, why) => {
  expect(await runShell({ command, environment, timeoutMs: LONG_MS, isRead: true })).toEqual({ why })
})

it('says that there is no shell for it', async () => {
  const folder = join(await temporaryFolder(), 'gone')
  const ended = await runShell({ command: 'true', environment, timeoutMs: LONG_MS, folder })
  expect(ended).toMatchObject({ why: expect.stringMatching(/^cannot be started \(.*ENOENT/) })
})

it.each([
  ['whose output it holds open', 'sleep 300 | cat'],
  ['that has left it', `setsid sh -c "$WAITS" & sleep 300`],
])('is over in its time, with a process %s', async (_, command) => {
  const folder = await temporaryFolder()
  // What it has started goes on until there is a file, and holds its output open.
  const waits = { WAITS: 'until [ -e over ] || [ ! -e shell ]; do sleep 0.1; done' }
  const pass = handInTimers()
  const ended = runShell({
    ...{ command: `echo $$ > shell; ${command}`, folder, timeoutMs: LONG_MS, isRead: true },
    environment: { ...environment, ...waits },
  })
  const shell = await firstLine(join(folder, 'shell'))
  pass(LONG_MS)
  expect(await ended).toEqual({ why: 'took longer than 60 s, and was killed' })
  await writeFile(join(folder, 'over'), '')
  await expect
    .poll(async () => (await readFile(`/proc/${shell}/stat`, 'utf8').catch(() => ') Z')).split(') ')[1]?.[0])
    .toBe('Z')
})
