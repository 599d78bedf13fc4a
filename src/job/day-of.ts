/** The day of an instant, in UTC: `2026-03-02`. */
export const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10)
