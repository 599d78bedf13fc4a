/** Files with their digests: the exports as they came, and what the run has written. */
import { html } from '../html-page.ts'
import { n } from './figures.ts'
import type { OutputFile } from './output-files.ts'
import type { RunFacts } from './run-facts.ts'
import { foldedTable } from './table.ts'

const SHOWN = 12

/** @param outputs undefined where nobody has looked at them */
export function filesSection(
  { exports, summary }: RunFacts,
  outputs: readonly OutputFile[] | undefined,
): string {
  const came = foldedTable(
    {
      label: 'Exports with their digests',
      columns: [
        { head: 'export' },
        { head: 'bytes', number: true },
        { head: 'SHA-256' },
        { head: 'mapping, and its SHA-256' },
      ],
      lines: exports.map(({ name, bytes, sha256, mapping, mappingDigest }) => [
        html(name),
        n(bytes),
        digest(sha256),
        `${mapping === undefined ? '' : `${html(mapping)}<br>`}${digest(mappingDigest)}`,
      ]),
      kind: 'stacked files',
    },
    SHOWN,
    'more exports',
  )
  return `<section id="files">
<h2>Files and digests</h2>
${exports.length === 0 ? '<p class="none">No export was taken.</p>' : came}
${writtenFiles(summary, outputs)}
</section>`
}

function writtenFiles(
  { pruned, files }: RunFacts['summary'],
  outputs: readonly OutputFile[] | undefined,
): string {
  if (pruned !== undefined) return '<p class="none">Receipts and rejects are gone: the run was pruned.</p>'
  if (files.rejects === undefined && files.receipts === undefined)
    return '<p class="none">The run has written neither rejects nor receipts.</p>'
  if (outputs === undefined) return ''
  return foldedTable(
    {
      label: 'Rejects and receipts with their digests',
      columns: [
        { head: 'written, in the home' },
        { head: 'bytes', number: true },
        { head: 'mode' },
        { head: 'SHA-256' },
      ],
      lines: outputs.map(({ what, path, found }) => [
        `${html(path)} <span class="soft">${what === 'rejects' ? 'rows as they came: health data, it stays where it is' : 'receipts'}</span>`,
        ...(found === undefined
          ? ['', '', '<strong>it is gone</strong>']
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
  )
}

const digest = (sha256: string): string => `<code class="digest">${html(sha256)}</code>`
