import { chooseFaults, type LoadedPlan, loadPlan, type RequestFacts, type Strike } from './choose-fault.ts'
import type { FaultPlan } from './fault-plan.ts'

/** The fault plan of a gateway, which can be replaced while it runs. */
export interface FaultBook {
  /** Whether there is a plan. */
  isLoaded(): boolean
  /** Takes another plan, or none; all counters begin anew. */
  load(plan: FaultPlan | undefined): void
  /** The faults that strike the request, counted; with the time at which their plan was loaded. */
  choose(facts: RequestFacts): { readonly strikes: readonly Strike[]; readonly loadedMs: number }
  /** What the control endpoint tells. */
  report(): FaultReport
}

export interface FaultReport {
  /** Null where there is none; with its defaults. */
  readonly plan: FaultPlan | null
  /** Epoch milliseconds. */
  readonly loadedAt: number | null
  /** In the order of the plan. */
  readonly faults: readonly {
    readonly do: string
    /** Requests that the fault was asked about. */
    readonly matched: number
    readonly struck: number
    /** Which of the matching requests were struck, from 1; the latest 1000. */
    readonly ordinals: readonly number[]
  }[]
}

export function createFaultBook(given: FaultPlan | undefined, clock: () => number): FaultBook {
  let loaded: LoadedPlan | undefined
  const load = (plan: FaultPlan | undefined): void => {
    loaded = plan === undefined ? undefined : loadPlan(plan, clock())
  }
  load(given)
  return {
    isLoaded: () => loaded !== undefined,
    load,
    choose: (facts) =>
      loaded === undefined
        ? { strikes: [], loadedMs: 0 }
        : { strikes: chooseFaults(loaded, facts), loadedMs: loaded.loadedMs },
    report: () => ({
      plan: loaded?.plan ?? null,
      loadedAt: loaded?.loadedMs ?? null,
      faults: (loaded?.faults ?? []).map(({ fault, matched, struck, ordinals }) => ({
        do: fault.do,
        matched,
        struck,
        ordinals: [...ordinals],
      })),
    }),
  }
}
