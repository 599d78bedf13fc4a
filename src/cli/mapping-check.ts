/** `waybill mapping check`: every problem of a mapping, with file, line and key. */
import { basename } from 'node:path'
import { EXIT, WaybillError } from '../errors.ts'
import { openExport } from '../extract/open-export.ts'
import { readMapping } from '../job/definition-files.ts'
import type { Action } from './context.ts'
import { errorAsJson } from './describe-error.ts'

export interface MappingCheckOptions {
  readonly mapping: string
  readonly export?: string
  readonly json?: true
}

export const mappingCheck: Action<MappingCheckOptions> = async (context, options) => {
  try {
    const mapping = await readMapping(context.settings, options.mapping)
    if (options.export !== undefined) {
      const opened = await openExport(options.export, mapping.read)
      mapping.compiled.bind(opened.columns, basename(options.export))
    }
    const against = options.export === undefined ? '' : ` and fits ${basename(options.export)}`
    context.out(
      options.json
        ? `${JSON.stringify({ mapping: mapping.name, ok: true })}\n`
        : `${mapping.name} is well-formed${against}.\n`,
    )
    return EXIT.ok
  } catch (error) {
    if (!options.json || !(error instanceof WaybillError)) throw error
    context.out(`${JSON.stringify({ mapping: options.mapping, ok: false, ...errorAsJson(error) })}\n`)
    return error.exit
  }
}
