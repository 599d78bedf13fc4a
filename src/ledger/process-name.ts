/** As people are shown an owner of the ledger: `host:pid`, without what tells that process from all others (src/process-identity.ts). */
export const processName = (owner: string): string => owner.replace(/#[^#:]*$/, '')
