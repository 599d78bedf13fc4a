/** The commands below `waybill mapping`. */
import type { Command } from 'commander'
import { json, type Perform, wholeNumber } from './command-options.ts'

export function addMappingCommands(program: Command, perform: Perform): void {
  const mapping = program.command('mapping').description('check and preview mapping files')
  mapping
    .command('check')
    .description('report every problem of a mapping, with file, line and key')
    .argument('<mapping>', 'name of a file in the mappings folder, or a path')
    .option('--export <path>', 'check its columns too, against this export')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping check acme-onsite --export samples/inbox/acme_screening_20260302.csv',
    )
    .action((name: string, options: { export?: string; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-check.ts')).mappingCheck(context, { mapping: name, ...options }),
      ),
    )
  mapping
    .command('preview')
    .description('show rows of an export as records; prints health data, sends nothing')
    .argument('<mapping>', 'name of a file in the mappings folder, or a path')
    .argument('<export>', 'path of an export')
    .option('--row <n>', 'only this row', wholeNumber)
    .option('--limit <n>', 'how many rows', wholeNumber, 3)
    .addOption(json())
    .addHelpText(
      'after',
      '\nExample:\n  waybill mapping preview acme-onsite samples/inbox/acme_screening_20260302.csv --row 17',
    )
    .action((name: string, sample: string, options: { row?: number; limit: number; json?: true }) =>
      perform(async (context) =>
        (await import('./mapping-preview.ts')).mappingPreview(context, { mapping: name, sample, ...options }),
      ),
    )
}
