/** `waybill mapping edit`: a page on this machine with rows of an export as records, updated when the mapping is saved. */
import { existsSync, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { createComparison, rowPairs } from '../../packages/mapping-tools/src/compare-outcomes.ts'
import {
  EDIT_SCRIPT,
  EDIT_STYLE,
  type EditProblem,
  type EditView,
  editPage,
  viewHtml,
} from '../../packages/mapping-tools/src/edit-page.ts'
import { previewRow } from '../../packages/mapping-tools/src/preview.ts'
import { createDoor } from '../console/door.ts'
import { createEventStream } from '../console/event-stream.ts'
import { readMapping } from '../definitions/definition-files.ts'
import { type ErrorCode, EXIT, WaybillError } from '../model/errors.ts'
import type { ReceivedExport } from '../run/arrival.ts'
import { watchFit } from '../runs/doubtful-mappings.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'
import { unreadColumns } from '../watch/unread-columns.ts'
import type { CommandContext } from './command-form.ts'
import type { Action, Options } from './commands.ts'
import { fitLines, isSuspicious } from './fit-text.ts'
import { type Bound, bound, differenceText, onSample } from './mapping-check.ts'

export const mappingEdit: Action<'mapping edit'> = onSample(editOn)

async function editOn(
  context: CommandContext,
  options: Options<'mapping edit'>,
  sample: ReceivedExport,
): Promise<number> {
  const { mapping: name } = options
  let last: Bound | undefined
  let part = ''
  let view: EditView | undefined
  const { file } = await fileOf(context, name)
  let text = ''
  const refresh = async (): Promise<void> => {
    // The file may be missing while an editor replaces it.
    text = await readFile(file, 'utf8').catch(() => text)
    const source = { file, text }
    try {
      const now = await bound(context, name, sample)
      // Editors and file systems report a save several times: the changes by the save stay on the page.
      if (view !== undefined && now.mapping.content === last?.mapping.content) {
        part = viewHtml(source, view)
        return
      }
      view = await look(context, last, now, { ...sample, limit: options.limit })
      last = now
      part = viewHtml(source, view)
    } catch (error) {
      if (!existsSync(sample.file)) throw error
      part = viewHtml(source, view, problemOf(error, view === undefined))
    }
  }
  await refresh()
  const stream = createEventStream()
  const door = await createDoor({
    now: context.now,
    randomHex: context.randomHex,
    name: 'the page',
    listen: { host: '127.0.0.1', port: options.port },
    invited: { name: context.user, roles: new Set(['viewer', 'health-data']) },
    onAddress: (url) =>
      context.out([
        `${url} shows ${sample.name} as mapped by ${name}, updated when you save ${file}. It opens once, in one browser.`,
        'The page shows health data of people. Nothing is sent. Ctrl-C ends the command.',
      ]),
    style: EDIT_STYLE,
    script: EDIT_SCRIPT,
    onDefect: (code) => context.logger.error(`mapping edit: unexpected ${code}`),
  })
  door.app.get('/', async (_, reply) => door.send(reply, editPage(name, sample.name, part)))
  door.app.get('/events', (_, reply) => {
    reply.hijack()
    stream.join(reply.raw)
  })
  await door.open()
  const saves = follow(file, context.settings.mappings, context.interrupt, async () => {
    await refresh()
    stream.send(JSON.stringify(part))
  })
  await saves
  stream.close()
  await door.close()
  return EXIT.ok
}

/** Finds the file of a mapping, also of an invalid one. @throws `mapping-not-found` */
async function fileOf({ settings }: CommandContext, name: string): Promise<{ readonly file: string }> {
  try {
    return await readMapping(settings, name)
  } catch (error) {
    if (!(error instanceof WaybillError) || error.code !== 'mapping-invalid') throw error
    const { file } = error.place ?? {}
    if (file === undefined) throw error
    return { file }
  }
}

const ROWS_JUDGED = 20_000

async function look(
  context: CommandContext,
  before: Bound | undefined,
  now: Bound,
  { name, limit }: Pick<ReceivedExport, 'name'> & Pick<Options<'mapping edit'>, 'limit'>,
): Promise<EditView> {
  const { mapping, opened, map } = now
  const fit = await watchFit(context.settings, mapping, opened.columns)
  const comparison = createComparison(0)
  const rows: EditView['rows'][number][] = []
  let failed = 0
  let judged = 0
  read: for await (const pairs of rowPairs(before ?? now, now)) {
    for (const [old, row] of pairs) {
      if (judged++ >= ROWS_JUDGED) break read
      const was = old === undefined || before === undefined ? undefined : before.map(old)
      const outcome = row === undefined ? undefined : map(row)
      if (before !== undefined) comparison.add(was, outcome)
      if (row === undefined || outcome === undefined) continue
      fit.add(outcome)
      const hasFaults =
        outcome.outcome === 'rejected' || (outcome.outcome === 'mapped' && outcome.rejected.length > 0)
      if (row.row > limit && !(hasFaults && failed < limit)) continue
      if (row.row > limit) failed++
      rows.push({
        now: previewRow(row, opened.columns, outcome),
        before:
          was === undefined || old === undefined ? undefined : previewRow(old, before?.opened.columns, was),
      })
    }
  }
  const report = fit.report()
  const { definition, compiled } = mapping
  const ignored = ignoredColumns(definition)
  return {
    rows,
    reads: compiled.reads,
    unread: unreadColumns(compiled.reads, opened.columns ?? []).filter((column) => !ignored.has(column)),
    fit: fitLines(report),
    isSuspicious: isSuspicious(report),
    changes:
      before === undefined
        ? undefined
        : ['Changes by the last save:', ...differenceText(comparison.result(), name)],
  }
}

/** Errors that another save of the mapping can correct, before anything was shown. */
const OF_THE_MAPPING: readonly ErrorCode[] = ['mapping-invalid', 'columns-missing', 'export-unreadable']

/** @throws an error that is no problem of the mapping or the export; at first also for a missing export or mapping */
function problemOf(error: unknown, first: boolean): EditProblem {
  if (!(error instanceof WaybillError) || (first && !OF_THE_MAPPING.includes(error.code))) throw error
  return { message: error.message, place: error.place, findings: error.findings }
}

/**
 * Refreshes at each save of the mapping, a table or the catalog, one refresh at a time, until the interrupt. Watches folders, as editors save by
 * replacing the file.
 */
async function follow(
  file: string,
  mappings: string,
  interrupt: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  const folders = new Set([dirname(resolve(file)), join(mappings, 'tables'), join(mappings, 'catalog')])
  let wake = (): void => undefined
  let saved = false
  const watchers = [...folders].filter(existsSync).map((folder) =>
    watch(folder, (_event, name) => {
      if (folder === dirname(resolve(file)) && name !== null && name !== basename(file)) return
      saved = true
      wake()
    }),
  )
  interrupt.addEventListener('abort', () => wake())
  try {
    while (!interrupt.aborted) {
      if (!saved)
        await new Promise<void>((done) => {
          wake = done
        })
      if (interrupt.aborted) return
      saved = false
      await look()
    }
  } finally {
    for (const watcher of watchers) watcher.close()
  }
}

/** Columns that the mapping ignores, for any rule. */
const ignoredColumns = ({ row, biometrics = {} }: MappingDefinition): Set<string> =>
  new Set([
    ...(row.ignore ?? []),
    ...Object.values(biometrics).flatMap((rule) => (typeof rule === 'object' ? (rule.ignore ?? []) : [])),
  ])
