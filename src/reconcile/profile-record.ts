/** Reading what the gateway returns: ids, accounts and codes, in whichever of the interface's forms they come. Pure. */
import type { AccountIds } from '../model/entry.ts'
import type { AccountKey } from '../model/record.ts'

/** `source.meta.persistentRecordId`: the transaction id, where the gateway keeps it. */
export function persistentId(record: { readonly [key: string]: unknown }): string | undefined {
  const { source } = record
  if (!isObject(source) || !isObject(source['meta'])) return undefined
  return textOf(source['meta']['persistentRecordId'])
}

/** The ways in which the gateway may name the account: as sent, or as resolved. */
export function accountNames(account: AccountKey, accountIds: AccountIds): string[] {
  const id = accountIds(account)
  return id === undefined || id === account.reference ? [account.reference] : [account.reference, id]
}

export function codesOf(codes: unknown): string[] {
  if (!Array.isArray(codes)) return []
  return codes.flatMap((coding: unknown) => (isObject(coding) ? (textOf(coding['code']) ?? []) : []))
}

/** The field where it is text, as documented. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null
