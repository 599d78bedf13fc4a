/**
 * The source object of records (interface, "Source object"), the same for all rows or as each row says. Text that a row says stands in the same
 * place as text of the mapping: records and hashes are alike.
 */
import { fault, type Issue } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import { type CompileContext, issueOf } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/**
 * The end of every record's JSON text: the source object, up to where the batch id goes. `resourceKey` is the row's key; `batchId` and
 * `persistentRecordId` are added when the batch is cut.
 */
export interface SourceText {
  readonly type: string
  /** Before and after the row's key. */
  readonly beforeKey: string
  readonly afterKey: string
  /** Before the row's key of a record that has a note of its own, behind that of the mapping. */
  readonly withNote: (note: string) => string
}

export interface CompiledSource {
  /** Takes the source of a row, for the records that are made next; tells why the row has none. */
  readonly enter: (scope: Scope) => Issue | undefined
  /** Parts that records of one source have in common, made once for each source. */
  readonly each: <Made>(make: (source: SourceText) => Made) => () => Made
}

const KEYS = ['name', 'type', 'notes', 'sendingSystem', 'dataQuality'] as const
type Said = Partial<Record<(typeof KEYS)[number], string>>

const NO_SOURCE = fault('source-missing', 'there is no name, or no type, of the source')
/** Sources that are remembered: notes may be others in every row. */
const KEPT = 1_000

/** Compiles the block `row.source`; problems go to the context's findings. */
export function compileSource(context: CompileContext, source: RowBlock['source']): CompiledSource {
  const fields = KEYS.flatMap((key) => {
    const written = source[key]
    if (written === undefined) return []
    const path: KeyPath = ['row', 'source', key]
    const field = compileField(context, context.word(written, path), path)
    if (field.branch > 0)
      context.report(path, 'the source must be read from the row itself, not from a level of it')
    const isConstant = typeof written === 'string' || written.constant !== undefined
    const constant = isConstant ? field.read([]) : undefined
    return [{ key, field, constant: typeof constant === 'string' && constant !== '' ? constant : undefined }]
  })
  if (fields.every(({ constant }) => constant !== undefined)) {
    const text = textOf(Object.fromEntries(fields.map(({ key, constant }) => [key, constant])))
    return {
      enter: () => undefined,
      each(make) {
        const made = make(text)
        return () => made
      },
    }
  }
  const known = new Map<string, SourceText>()
  let current = textOf({})
  return {
    enter(scope) {
      const said: Said = {}
      for (const { key, field } of fields) {
        const text = field.read(scope)
        if (typeof text !== 'string') return issueOf(text, field.from)
        if (text !== '') said[key] = text
        else if (key === 'name' || key === 'type') return issueOf(NO_SOURCE, field.from)
      }
      const asked = JSON.stringify(said)
      const before = known.get(asked)
      current = before ?? textOf(said)
      if (before === undefined) {
        if (known.size >= KEPT) known.clear()
        known.set(asked, current)
      }
      return undefined
    },
    each<Made>(make: (source: SourceText) => Made) {
      const made = new WeakMap<SourceText, { readonly of: Made }>()
      return () => {
        const before = made.get(current)
        if (before !== undefined) return before.of
        const of = make(current)
        made.set(current, { of })
        return of
      }
    },
  }
}

function textOf({ name = '', type = '', notes, sendingSystem, dataQuality }: Said): SourceText {
  const quality = dataQuality === undefined ? '' : `"dataQuality":${JSON.stringify(dataQuality)},`
  const system = sendingSystem === undefined ? '' : `,"sendingSystem":${JSON.stringify(sendingSystem)}`
  const beforeKey = (noted: string | undefined): string => {
    const outer = JSON.stringify({ name, type, ...(noted === undefined ? {} : { notes: noted }) })
    return `"source":${outer.slice(0, -1)},"meta":{${quality}"resourceKey":`
  }
  return {
    type,
    beforeKey: beforeKey(notes),
    afterKey: `${system},"batchId":"`,
    withNote: (note) => beforeKey(notes === undefined ? note : `${notes}; ${note}`),
  }
}
