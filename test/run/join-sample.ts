import type { LoadedMapping } from '../../src/definitions/definition-files.ts'
import { joinExports } from '../../src/run/joined-exports.ts'
import { withSample } from '../../src/runs/sample.ts'

/** A mapping with what lies beside a file that no job is about. */
export const joinSample = (mapping: LoadedMapping, file: string): Promise<LoadedMapping> =>
  withSample(
    {},
    file,
    undefined,
    async ({ name, beside }) => (await joinExports(mapping, name, beside)).mapping,
  )
