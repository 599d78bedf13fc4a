/** Gateway and notification targets of jobs. */
import { dirname } from 'node:path'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import { readObeyed } from '../system/obeyed-files.ts'
import { BUILT_IN, missingCredentials, type Settings } from '../system/settings.ts'
import { parseYaml } from '../system/yaml-file.ts'
import { type DefinitionFolders, definitionPaths, type Job } from './definition-files.ts'
import { JobDefinition } from './job-definition.ts'
import { missingSettings, NotifyDefinition, type NotifySettings, type Target } from './notify-definition.ts'

/** Stands for the gateway's name if none is set. Nothing was ever sent there. */
export const NO_GATEWAY = 'none'

export type GatewaySettings = Pick<Settings, 'gatewayUrl' | 'apiKey' | 'accessToken' | 'accessTokenCommand'>

/**
 * Chooses the gateway to send to. Job and settings must agree if both name a gateway, as either may be out of date.
 *
 * @throws `gateway-not-set`; `gateway-differs` if job and settings name different gateways; `settings-invalid` if the
 * credentials for an address are missing
 */
export function chooseGateway(
  settings: GatewaySettings,
  { file, definition }: Pick<Job, 'file' | 'definition'>,
): string {
  const { job, gateway: ofJob } = definition
  const { gatewayUrl: ofSettings } = settings
  const place = { file }
  const chosen = ofJob ?? ofSettings
  if (chosen === undefined)
    throw new WaybillError(
      'gateway-not-set',
      `no gateway is set: neither the job ${job} nor WAYBILL_GATEWAY_URL names one`,
      { place },
    )
  if (ofSettings !== undefined && ofSettings !== chosen)
    throw new WaybillError(
      'gateway-differs',
      `the job ${job} names the gateway ${chosen}, and WAYBILL_GATEWAY_URL names ${ofSettings}`,
      {
        place,
        remedy: 'Make both the same, or remove one. Nothing was sent.',
      },
    )
  const missing = ofSettings !== undefined || chosen === BUILT_IN ? [] : missingCredentials(settings, chosen)
  if (missing.length > 0)
    throw new WaybillError('settings-invalid', `the gateway of the job ${job} needs credentials`, {
      place,
      findings: missing,
    })
  return chosen
}

/** Returns the name of a job's gateway, for actions that send nothing. */
export const gatewayNameOf = (
  { gatewayUrl }: Pick<Settings, 'gatewayUrl'>,
  definition?: Pick<JobDefinition, 'gateway'>,
): string => definition?.gateway ?? gatewayUrl ?? NO_GATEWAY

const GatewayAlone = z.looseObject({ gateway: JobDefinition.shape.gateway })

/** Name of the gateway in a job file, even an invalid one. @param job name, or path of the file */
export async function readGatewayName(
  settings: Pick<Settings, 'gatewayUrl'> & Pick<DefinitionFolders, 'jobs'>,
  job: string,
): Promise<string> {
  for (const file of definitionPaths(settings.jobs, job)) {
    try {
      const { value } = parseYaml(await readObeyed(file), file, GatewayAlone, 'job-invalid')
      return gatewayNameOf(settings, value)
    } catch {
      // The file may have the other extension.
    }
  }
  return gatewayNameOf(settings)
}

export const targetsOf = ({ definition, file }: Pick<Job, 'definition' | 'file'>): Target[] =>
  definition.notify.map((target) => ({ ...target, folder: dirname(file) }))

const NotifyAlone = z.looseObject({ notify: NotifyDefinition.default([]) })

/**
 * Reads the notification targets of a job file, even if the rest of the file is invalid: an invalid job needs a notice most.
 *
 * @param name of the job, or the path of its file
 * @returns undefined if the targets cannot be read, or if another user may write to the file and so name any command
 */
export async function readTargets(
  { jobs }: Pick<DefinitionFolders, 'jobs'>,
  name: string,
): Promise<Target[] | undefined> {
  for (const file of definitionPaths(jobs, name)) {
    try {
      const { value } = parseYaml(await readObeyed(file), file, NotifyAlone, 'job-invalid')
      return value.notify.map((target) => ({ ...target, folder: dirname(file) }))
    } catch {
      // The file may have the other extension.
    }
  }
  return undefined
}

/** Checks the settings that a job's targets need. @throws `settings-invalid` if one is missing */
export function assertTellable(settings: NotifySettings, { definition, notifyAt }: Job): void {
  const findings = missingSettings(definition.notify, settings)
  if (findings.length === 0) return
  throw new WaybillError('settings-invalid', `the job ${definition.job} cannot notify its targets`, {
    place: notifyAt,
    findings,
    remedy: 'Set the settings named above, or remove the target from the job file: docs/notifications.md.',
  })
}
