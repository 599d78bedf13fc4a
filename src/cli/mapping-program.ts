/** The commands below `waybill mapping`. */
import type { Command } from 'commander'
import { json, type Perform, wholeNumber } from './context.ts'

interface PreviewOptions {
  readonly row?: number
  readonly limit: number
  readonly full?: true
  readonly html?: string
  readonly json?: true
}

export function addMappingCommands(program: Command, perform: Perform): void {
  const mapping = program.command('mapping').description('check, test, compare and preview mapping files')
  mapping
    .command('init')
    .description('draft a mapping and its cases from a sample export; overwrites nothing')
    .argument('<sample>', 'path of an export: CSV, NDJSON or JSON')
    .option('--name <name>', 'of the mapping; without it, from the file name')
    .option('--out <path>', 'where to write it; without it, NAME.yaml in the mappings folder')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping init samples/inbox/acme_screening_20260302.csv --name acme',
    )
    .action((sample: string, options: { name?: string; out?: string; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-init.ts')).mappingInit(context, { sample, ...options }),
      ),
    )
  mapping
    .command('check')
    .description('report every problem of mappings and their cases, with file, line and key')
    .argument('[mapping...]', 'names of files in the mappings folder, or paths; without any, all')
    .option('--export <path>', 'say how it fits this export: columns, and what each rule gives')
    .option('--rows <n>', 'of the export, look at so many rows', wholeNumber, 10_000)
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping check acme-onsite --export samples/inbox/acme_screening_20260302.csv',
    )
    .action((mappings: string[], options: { export?: string; rows: number; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-check.ts')).mappingCheck(context, { mappings, ...options }),
      ),
    )
  mapping
    .command('test')
    .description('run the cases beside mappings: rows, and what is to become of them')
    .argument(
      '[mapping...]',
      'names of files in the mappings folder, or paths; without any, all that have cases',
    )
    .option('--update', 'write what came out into the cases, for review as a diff')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping test\n  waybill mapping test acme-onsite --update && git diff mappings/acme-onsite.cases.yaml',
    )
    .action((mappings: string[], options: { update?: true; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-test.ts')).mappingTest(context, { mappings, ...options }),
      ),
    )
  mapping
    .command('diff')
    .description('show which records would change; prints health data, sends nothing')
    .argument('<old>', 'name of a file in the mappings folder, or a path')
    .argument('<new>', 'the same, of the mapping that is to take its place')
    .argument('<export>', 'path of an export to try both on')
    .option('--examples <n>', 'how many changes to show', wholeNumber, 10)
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  git show HEAD:mappings/acme-onsite.yaml > before.yaml\n  waybill mapping diff before.yaml acme-onsite samples/inbox/acme_screening_20260302.csv',
    )
    .action((before: string, after: string, sample: string, options: { examples: number; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-diff.ts')).mappingDiff(context, { before, after, sample, ...options }),
      ),
    )
  mapping
    .command('preview')
    .description('show rows of an export as records; prints health data, sends nothing')
    .argument('<mapping>', 'name of a file in the mappings folder, or a path')
    .argument('<export>', 'path of an export')
    .option('--row <n>', 'only this row', wholeNumber)
    .option('--limit <n>', 'how many rows', wholeNumber, 3)
    .option('--full', 'records as the JSON that would be sent')
    .option('--html <file>', 'write a page instead of printing')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --row 17\n  waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --limit 50 --html preview.html',
    )
    .action((name: string, sample: string, options: PreviewOptions) =>
      perform(async (context) =>
        (await import('./mapping-preview.ts')).mappingPreview(context, { mapping: name, sample, ...options }),
      ),
    )
}
