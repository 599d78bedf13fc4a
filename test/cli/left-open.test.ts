/** A schedule runs for months, and a program may run jobs one after the other: what a command opens, it closes. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NEEDS_PROC } from '../needed.ts'
import { ANN, BEN, HEADER, JOB, openClinic } from './clinic.ts'
import { ended } from './command-line.ts'

const PROCESS = join(import.meta.dirname, 'left-open-process.ts')
/** The longest that the process may take, its commands included. */
const ENDS_WITHIN_MS = 100_000

test(
  'a process ends by itself once its commands have, and no file of theirs is open',
  NEEDS_PROC,
  async () => {
    const clinic = await openClinic({ job: `${JOB}notify: { command: "true", on: always }\n` })
    const { folder } = clinic.workplace
    await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
    const commands = [
      [clinic.store.url, 'run', 'clinic'],
      ['built-in', 'run', 'clinic'],
      ['built-in', 'run', 'clinic', '--dry-run'],
      ...['show', 'report', 'doctor'].map((command) => [clinic.store.url, command]),
      [clinic.store.url, 'backup', 'copy.sqlite'],
      [clinic.store.url, 'prune', '--older-than', '0s'],
    ]
    const child = clinic.workplace.startProgram(PROCESS, folder, JSON.stringify(commands))
    const timer = setTimeout(() => child.kill(), ENDS_WITHIN_MS)
    const { code, out, err } = await ended(child)
    clearTimeout(timer)
    // The built-in gateway knows nobody who is not registered.
    expect(JSON.parse(out), err).toEqual({ codes: [0, 1, 0, 0, 0, 0, 0, 0], open: [] })
    // Null where it had to be killed.
    expect(code).toBe(0)
  },
)
