/** Order of the test files: short files that take long come first, so that no worker is left with one of them when all others are done. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Vitest knows how long files took from the run before. In a fresh clone it goes by their size, by which these would come last. */
const LONG = [
  'test/growth/growth.test.ts',
  'test/gateway/package.test.ts',
  'test/faults/drill.test.ts',
  'test/docs/readme-start.test.ts',
  'test/docs/deploy-users.test.ts',
  'test/docs/tour.test.ts',
  'test/laws/alike.test.ts',
  'test/laws/parts.test.ts',
  'test/ledger/postgres.test.ts',
  'test/operate/situations.test.ts',
]

const isLong = ({ moduleId }: TestSpecification): boolean =>
  LONG.some((file) => moduleId.endsWith(`/${file}`))

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
