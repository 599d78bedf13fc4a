/** The columns that a mapping reads, beside those that an export has. Pure. */
import type { Finding } from '../model/errors.ts'
import type { ReadName } from '../transform/compile-context.ts'

/** A finding for each place in the mapping that reads a column which the export lacks. */
export function unknownColumns(reads: readonly ReadName[], columns: readonly string[]): Finding[] {
  const there = new Set(columns)
  const alike = new Map(columns.map((column) => [plain(column), column]))
  return reads
    .filter(({ name }) => !there.has(name))
    .map(({ name, place }) => {
      const near = alike.get(plain(name))
      const meant = near === undefined ? '' : `, but "${near}"`
      return {
        place,
        message: `the export has no column "${name}"${meant}; a text that is the same in every row is written { constant: ${name} }`,
      }
    })
}

/** Columns of the export that the mapping reads nowhere; one without a name cannot be read. */
export function unreadColumns(reads: readonly ReadName[], columns: readonly string[]): string[] {
  const read = new Set(reads.map(({ name }) => name))
  return columns.filter((column) => column !== '' && !read.has(column))
}

/** A name without what people write differently: case, spaces, punctuation. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
