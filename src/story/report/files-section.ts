/** Files with their digests: exports as they arrived, and files written by the run. A report reads only the written files. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { counted, html, n } from '../../system/shown-text.ts'
import type { DetailedStory, RunSummary } from '../run-story.ts'
import { counts, foldedTable, nameHtml, words } from './figures.ts'

const SHOWN = 12

/** @param outputs undefined if not read */
export function filesSection(
  { exports, summary }: DetailedStory,
  outputs: readonly OutputFile[] | undefined,
): string {
  const came = foldedTable(
    {
      label: 'Exports with their digests',
      columns: [...words('export'), ...counts('bytes'), ...words('SHA-256')],
      lines: exports.map(({ name, bytes, sha256 }) => [nameHtml(name), n(bytes), digest(sha256)]),
      kind: 'stacked files',
    },
    SHOWN,
    'more exports',
  )
  return `<section id="files">
<h2>Files and digests</h2>
${exports.length === 0 ? '<p class="none">No export was read.</p>' : `${came}\n${mappings(exports)}`}
${writtenFiles(summary, outputs)}
</section>`
}

/** Mappings, once each for any number of exports. Joined tables belong to a mapping, so that it may have several digests. */
function mappings(exports: DetailedStory['exports']): string {
  const same = [...Map.groupBy(exports, ({ mappingDigest }) => mappingDigest).values()]
  return foldedTable(
    {
      label: 'Mappings with their digests',
      columns: words('mapping', 'read', 'SHA-256'),
      lines: same.flatMap((all) => {
        const [first] = all
        if (first === undefined) return []
        const { mapping = 'its name was pruned', mappingDigest } = first
        const read =
          all.length === 1 && same.length > 1 ? nameHtml(first.name) : counted(all.length, 'export')
        return [[html(mapping), read, digest(mappingDigest)]]
      }),
      kind: 'stacked files',
    },
    SHOWN,
    'more mappings',
  )
}

function writtenFiles({ pruned, files }: RunSummary, outputs: readonly OutputFile[] | undefined): string {
  if (pruned !== undefined) return '<p class="none">Receipts and rejects are gone: the run was pruned.</p>'
  if (files.rejects === undefined && files.receipts === undefined)
    return '<p class="none">The run has written neither rejects nor receipts.</p>'
  if (outputs === undefined) return ''
  const note =
    files.rejects === undefined
      ? ''
      : '<p class="note">Rejects are rows as they came, health data: keep them where they are.</p>\n'
  return `${note}${foldedTable(
    {
      label: 'Rejects and receipts with their digests',
      columns: [...words('written, in the home'), ...counts('bytes'), ...words('mode', 'SHA-256')],
      lines: outputs.map(({ path, found }) => [
        nameHtml(path),
        ...(found === undefined
          ? ['', '', '<strong>missing</strong>']
          : [
              n(found.bytes),
              `<code>${found.mode.toString(8).padStart(4, '0')}</code>`,
              digest(found.sha256),
            ]),
      ]),
      kind: 'stacked files',
    },
    SHOWN,
    'more files',
  )}`
}

const digest = (sha256: string): string => `<code>${html(sha256)}</code>`

export interface OutputFile {
  readonly what: 'rejects' | 'receipts'
  /** Relative to the home. */
  readonly path: string
  /** Undefined for a missing file. */
  readonly found?: { readonly bytes: number; readonly mode: number; readonly sha256: string }
}

/** @param home folder of the installation */
export async function measureOutputFiles(
  home: string,
  { exports, files }: Pick<RunSummary, 'exports' | 'files'>,
): Promise<OutputFile[]> {
  const named = [
    ...exports.flatMap(({ rejects }) => (rejects === undefined ? [] : [['rejects', rejects] as const])),
    ...(files.receipts === undefined ? [] : [['receipts', files.receipts] as const]),
  ]
  const measured: OutputFile[] = []
  for (const [what, path] of named) {
    const found = await measure(path).catch(() => undefined)
    measured.push({ what, path: relative(home, path), ...(found === undefined ? {} : { found }) })
  }
  return measured
}

async function measure(path: string): Promise<OutputFile['found']> {
  const { size, mode } = await lstat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { bytes: size, mode: mode & 0o777, sha256: hash.digest('hex') }
}
