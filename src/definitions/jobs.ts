/** Jobs as their files say: which gateway their records go to, and whom they notify. */
import { dirname } from 'node:path'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import { readObeyed } from '../obeyed-files.ts'
import { BUILT_IN, missingCredentials, type Settings } from '../settings.ts'
import { parseYaml } from '../yaml-file.ts'
import { type DefinitionFolders, definitionPaths, type Job } from './definition-files.ts'
import { JobDefinition } from './job-definition.ts'
import { missingSettings, NotifyDefinition, type NotifySettings, type Target } from './notify-definition.ts'

/** In the place of a gateway's name where nobody has named one: nothing was ever sent there. */
export const NO_GATEWAY = 'none'

export type GatewaySettings = Pick<Settings, 'gatewayUrl' | 'apiKey' | 'accessToken' | 'accessTokenCommand'>

/**
 * The gateway to send to. A job and the settings must not contradict each other: either may be the one that was forgotten.
 * @throws WaybillError `gateway-not-set`; `gateway-differs` where both name one, and not the same; `settings-invalid` without the
 *   credentials that an address needs
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
        remedy: 'Make both the same, or take one of them out. Nothing was sent.',
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

/** The gateway that a job is known under, for what sends nothing. */
export const gatewayNameOf = (
  { gatewayUrl }: Pick<Settings, 'gatewayUrl'>,
  definition?: Pick<JobDefinition, 'gateway'>,
): string => definition?.gateway ?? gatewayUrl ?? NO_GATEWAY

const GatewayAlone = z.looseObject({ gateway: JobDefinition.shape.gateway })

/** The same from a job file, whatever else is wrong with it. @param job its name, or the path of its file */
export async function readGatewayName(
  settings: Pick<Settings, 'gatewayUrl'> & Pick<DefinitionFolders, 'jobs'>,
  job: string,
): Promise<string> {
  for (const file of definitionPaths(settings.jobs, job)) {
    try {
      const { value } = parseYaml(await readObeyed(file), file, GatewayAlone, 'job-invalid')
      return gatewayNameOf(settings, value)
    } catch {
      // The other spelling may be there.
    }
  }
  return gatewayNameOf(settings)
}

export const targetsOf = ({ definition, file }: Pick<Job, 'definition' | 'file'>): Target[] =>
  definition.notify.map((target) => ({ ...target, folder: dirname(file) }))

const NotifyAlone = z.looseObject({ notify: NotifyDefinition.default([]) })

/**
 * The targets that a job file names, whatever else is wrong with it: somebody is to be told just then.
 * @param name of the job, or the path of its file
 * @returns undefined if the targets cannot be read, or another user may write to the file, and so name any command
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
