/** Reporter: says in the closing lines of the suite how many tests were skipped, and for want of what. */
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import './needed.ts'

/** What the test or what it stands in needs, or the note with which it has skipped itself. */
function reasonOf(test: TestCase): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note !== undefined) return `by itself: ${result.note}`
  for (let task: TestCase | TestSuite | TestModule = test; task.type !== 'module'; task = task.parent) {
    const { needs } = task.meta()
    if (needs !== undefined) return `for want of ${needs}`
  }
  return 'for no reason given'
}

/** A line for each reason, the most frequent first. */
export function skippedLines(modules: readonly TestModule[]): string[] {
  const tests = modules
    .flatMap((module) => [...module.children.allTests()])
    .filter((test) => test.result().state === 'skipped')
  return [...Map.groupBy(tests, reasonOf)]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([reason, { length }]) => `${length} ${length === 1 ? 'test was' : 'tests were'} skipped ${reason}`)
}

export class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const line of skippedLines(modules)) process.stdout.write(`     ${line}\n`)
  }
}
