/** Notes, in whatever process a probe is passed, the test that this process works for. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

declare global {
  var reachedBy: { test: string; readonly noted: Set<string> } | undefined
}

/** Says that this process works for a test from now on, and so do the processes that it starts. */
export function worksFor(folder: string, test: string): void {
  globalThis.reachedBy = { test, noted: new Set() }
  writeFileSync(join(folder, `process-${process.pid}`), test)
}

function parentOf(pid: number): number {
  // proc(5): the name of the program, in parentheses, may itself hold any character.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** The test of the nearest process above that works for one. */
function testOf(folder: string): string {
  for (let pid = process.pid; pid > 1; pid = parentOf(pid)) {
    try {
      return readFileSync(join(folder, `process-${pid}`), 'utf8')
    } catch {
      // The next one above.
    }
  }
  return 'nobody'
}

/** Notes once for each test that a place was reached. */
export function reached(folder: string, place: number): void {
  globalThis.reachedBy ??= { test: testOf(folder), noted: new Set() }
  const { test, noted } = globalThis.reachedBy
  const line = `${place} ${test}\n`
  if (noted.has(line)) return
  noted.add(line)
  appendFileSync(join(folder, 'reached'), line)
}
