/** Who is to be told of a job. */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import { NotifyDefinition } from '../notify/notify-definition.ts'
import { missingSettings, type NotifySettings, type Target } from '../notify/target.ts'
import { parseYaml } from '../yaml-file.ts'
import { type DefinitionFolders, definitionPaths, type Job } from './definition-files.ts'

export const targetsOf = ({ definition, file }: Pick<Job, 'definition' | 'file'>): Target[] =>
  definition.notify.map((target) => ({ ...target, folder: dirname(file) }))

const NotifyAlone = z.looseObject({ notify: NotifyDefinition.default([]) })

/**
 * The targets that a job file names, whatever else is wrong with it: somebody is to be told just then.
 * @param name of the job, or the path of its file
 * @returns undefined where they cannot be read
 */
export async function readTargets(
  { jobs }: Pick<DefinitionFolders, 'jobs'>,
  name: string,
): Promise<Target[] | undefined> {
  for (const file of definitionPaths(jobs, name)) {
    try {
      const { value } = parseYaml(await readFile(file, 'utf8'), file, NotifyAlone, 'job-invalid')
      return value.notify.map((target) => ({ ...target, folder: dirname(file) }))
    } catch {
      // The other spelling may be there.
    }
  }
  return undefined
}

/** @throws WaybillError `settings-invalid` where a target of the job cannot be told without a setting that is missing */
export function assertTellable(settings: NotifySettings, { definition, notifyAt }: Job): void {
  const findings = missingSettings(definition.notify, settings)
  if (findings.length === 0) return
  throw new WaybillError('settings-invalid', `the job ${definition.job} cannot tell its targets`, {
    place: notifyAt,
    findings,
    remedy: 'Set what is named above, or take the target out of the job file: docs/notifications.md.',
  })
}
