/** `waybill mapping init`: drafts a mapping and its cases from sample exports. Overwrites nothing and sends nothing. */
import { rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import {
  decidedCodes,
  type EarlierMapping,
  withDecided,
} from '../../packages/mapping-tools/src/draft/decided-before.ts'
import { draftCases } from '../../packages/mapping-tools/src/draft/draft-cases.ts'
import { type DraftedSample, draftSample } from '../../packages/mapping-tools/src/draft/draft-sample.ts'
import { joinSamples, type NamedSample } from '../../packages/mapping-tools/src/draft/join-samples.ts'
import { readAnySample } from '../../packages/mapping-tools/src/draft/sheet-sample.ts'
import { createVocabulary } from '../../packages/mapping-tools/src/draft/vocabulary.ts'
import { draftText } from '../../packages/mapping-tools/src/draft/write-draft.ts'
import { parseCases, runCases, textReader, updateCases } from '../../packages/mapping-tools/src/run-cases.ts'
import { readCatalogFiles, readSynonyms, resourcesOf } from '../definitions/catalog-files.ts'
import { definitionsIn, type LoadedMapping, readMapping } from '../definitions/definition-files.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { sourceSettings } from '../runs/connect-gateway.ts'
import { withSample } from '../runs/sample.ts'
import { makeFolder, writeOwn } from '../system/own-files.ts'
import { shellPath, shellWord, shownPath } from '../system/shown-text.ts'
import { undecidedLines } from '../transform/mapping-definition.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Action, Options } from './commands.ts'

export const mappingInit: Action<'mapping init'> = async (context, options) => {
  const folder = context.settings.mappings
  if (options.out !== undefined && !/\.ya?ml$/.test(options.out))
    throw new WaybillError('usage-wrong', '--out is not a YAML file', {
      remedy: 'Give a file name that ends in .yaml.',
    })
  const name = nameOf(options)
  const file = options.out ?? join(folder, `${name}.yaml`)
  const [files, synonyms] = await Promise.all([readCatalogFiles(folder, undefined), readSynonyms(folder)])
  const { catalog, units } = resourcesOf(files)
  const earlier = await earlierMappings(context)
  const vocabulary = { ...createVocabulary(catalog, units, synonyms), decided: decidedCodes(earlier) }
  const readNamed = (path: string): Promise<NamedSample> =>
    withSample(sourceSettings(context), path, options.members, async ({ file: unpacked, name: called }) => {
      const sample = await readAnySample(unpacked, vocabulary).catch(withRemedy)
      // Ends here after an interrupt: the draft takes a moment.
      context.interrupt.throwIfAborted()
      return { file: called, sample }
    })
  const [first, ...others] = options.samples
  const samples: [NamedSample, ...NamedSample[]] = [await readNamed(first ?? '')]
  for (const path of others) samples.push(await readNamed(path))
  const drafted = withDecided(
    draftSample(name, samples.map((one) => one.file).join(', '), joinSamples(samples), vocabulary),
    earlier,
  )
  const schemas = relative(dirname(file), join(folder, '../schemas'))
  const text = draftText(drafted.draft, `${schemas}/mapping.schema.json`)
  makeFolder(dirname(file), 0o777)
  writeOwn(file, text, { isNew: true })
  const cases = file.replace(/\.ya?ml$/, '.cases.yaml')
  const { biometrics, conditions, careTeams } = drafted.draft
  const usable = [...biometrics, ...conditions, ...careTeams].some(({ yaml }) => yaml !== undefined)
  if (usable) await writeCases(context, drafted, cases, { file, schema: `${schemas}/cases.schema.json` })
  const asked = undecidedLines(text).length
  const { found } = drafted.draft
  const result = { mapping: file, ...(usable ? { cases } : {}), name, found, decide: asked }
  print(context, options.json, result, () => resultText(result, options))
  return EXIT.ok
}

/** Mappings of the folder without open decisions. Skips invalid mappings: `mapping check` reports them. */
async function earlierMappings({ settings }: CommandContext): Promise<EarlierMapping[]> {
  const names = await definitionsIn(settings.mappings)
  const mappings = await Promise.all(
    names.map((name) =>
      readMapping(settings, name).catch((error: unknown) => {
        if (error instanceof WaybillError) return undefined
        throw error
      }),
    ),
  )
  return mappings.flatMap((one) =>
    one === undefined || one.undecided.length > 0
      ? []
      : [
          {
            file: basename(one.file),
            text: one.text,
            reads: one.compiled.reads,
            tables: one.resources.tables,
          },
        ],
  )
}

/** Adds a remedy: `read` in a mapping can describe a form of CSV or JSON that is not recognised. */
function withRemedy(error: unknown): never {
  if (!(error instanceof WaybillError) || error.code !== 'export-unreadable' || error.cause !== undefined)
    throw error
  throw new WaybillError(error.code, error.message, {
    ...(error.place === undefined ? {} : { place: error.place }),
    findings: error.findings,
    remedy:
      'If it is CSV or JSON in an unusual form, copy a mapping of the same shape and write its `read` block by hand (encoding, delimiter, header line): docs/mapping.md, "Reading CSV".',
    cause: error,
  })
}

/** Name of the mapping: given, or derived from the file name without folders, endings and dates. */
function nameOf({ name, out, samples: [sample = ''] }: Options<'mapping init'>): string {
  const given = name ?? (out === undefined ? undefined : basename(out).replace(/\.ya?ml$/, ''))
  const derived = basename(sample)
    .replace(/\..*$/, '')
    .toLowerCase()
    .replaceAll(/\d{6,}/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const chosen = given ?? (derived || 'draft')
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(chosen)) return chosen
  throw new WaybillError('usage-wrong', `"${chosen}" cannot name a mapping`, {
    remedy: 'Give --name in kebab-case: lower-case letters, digits, hyphens.',
  })
}

/** Writes the cases: drafted rows, with the results of the drafted mapping as expectations. */
async function writeCases(
  context: CommandContext,
  drafted: DraftedSample,
  casesFile: string,
  { file, schema }: { readonly file: string; readonly schema: string },
): Promise<void> {
  const mapping: LoadedMapping = await readMapping(context.settings, file)
  const text = draftCases(drafted, mapping, schema)
  const { value } = parseCases(text, casesFile)
  const results = await runCases(mapping.compiled, value, textReader(mapping.read))
  try {
    writeOwn(casesFile, updateCases(text, results), { isNew: true })
  } catch (error) {
    // Keeps no mapping without its cases.
    await rm(file)
    throw error
  }
}

interface Result {
  readonly mapping: string
  readonly cases?: string
  readonly name: string
  readonly found: readonly string[]
  readonly decide: number
}

function resultText(
  { mapping, cases, found, decide }: Result,
  { samples, members }: Options<'mapping init'>,
): string[] {
  const which = members === undefined ? '' : ` --members ${shellWord(members)}`
  const file = shellPath(mapping)
  const exports = samples.map((path) => `${shellPath(path)}${which}`)
  const checks = exports.map((sample) => `  waybill mapping check ${file} --export ${sample}`)
  if (cases === undefined)
    return [
      `Nothing in ${samples.join(', ')} was recognised. ${shownPath(mapping)} is a skeleton that lists the findings: add rules, then`,
      ...checks,
    ]
  const questions = decide === 1 ? '1 line says' : `${decide} lines say`
  return [
    `Drafted ${shownPath(mapping)}: ${found.length === 0 ? 'no entry of the catalog matches yet' : `${found.length} of the catalog found (${found.join(', ')})`}.`,
    `${questions} DECIDE: decide first. ${shownPath(cases)} has cases with made-up people.`,
    '',
    'Next:',
    ...checks,
    `  waybill mapping preview ${file} ${exports[0]}`,
    `  waybill mapping test ${file}`,
  ]
}
