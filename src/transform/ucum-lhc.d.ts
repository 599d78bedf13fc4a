/** The part of @lhncbc/ucum-lhc that Waybill uses; the package ships no types. */
declare module '@lhncbc/ucum-lhc' {
  interface UcumUnit {
    readonly csCode_: string
    readonly moleExp_: number
    readonly isArbitrary_: boolean
    readonly dim_: { readonly dimVec_: readonly number[] | null } | null
  }
  interface UcumLhcUtilities {
    convertUnitTo(
      from: string,
      value: number,
      to: string,
      options?: { molecularWeight?: number },
    ): { status: 'succeeded' | 'failed' | 'error'; toVal: number | null; msg: string[] }
    getSpecifiedUnit(code: string, mode: 'validate'): { unit: UcumUnit | null; retMsg: string[] }
  }
  const ucum: { UcumLhcUtils: { getInstance(): UcumLhcUtilities } }
  export default ucum
}
