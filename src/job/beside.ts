/** Which of the files beside an export is the one that its mapping joins. */
import { compilePattern, inOrder, matchExportName } from '../extract/discover.ts'

interface Named {
  readonly name: string
}

/**
 * Of the files with such names, without the export itself: that of the same date, where both patterns have one, else the last in the order
 * of exports (date in the name, then name).
 * @param exportName without a folder
 * @param exportPattern by which the export was found
 */
export function chooseBeside<File extends Named>(
  files: readonly File[],
  pattern: string,
  exportName: string,
  exportPattern: string,
): File | undefined {
  const compiled = compilePattern(pattern)
  const { date } = matchExportName(compilePattern(exportPattern), exportName) ?? {}
  return inOrder(
    compiled,
    files.filter(({ name }) => name !== exportName),
  )
    .filter(({ name }) => {
      const found = matchExportName(compiled, name)
      return date === undefined || found?.date === undefined || found.date === date
    })
    .at(-1)
}
