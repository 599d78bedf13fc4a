/**
 * Runs the suite, or the files that are named, as if it were 00:20 in UTC: `npm run test:midnight -- FILE`. What reads the clock within a process, or in
 * one that a test starts, gets the time that libfaketime shifts. The times of files are the machine's: they are older, never in the future.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

const [library] = globSync(['/usr/lib/*/faketime/libfaketime.so.1', '/usr/lib/faketime/libfaketime.so.1'])
if (library === undefined) {
  process.stderr.write(
    'libfaketime was not found in /usr/lib. Install it ("apt-get install faketime"), then type the command again.\n',
  )
  process.exit(2)
}
const DAY_S = 86_400
const now = Math.floor(Date.now() / 1000)
const ahead = (20 * 60 - (now % DAY_S) + DAY_S) % DAY_S
const vitest = resolve(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: {
    ...process.env,
    LD_PRELOAD: library,
    FAKETIME: `+${ahead}s`,
    // Timers go by the other clock, which is left alone.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  },
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
