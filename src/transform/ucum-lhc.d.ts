/** The part of @lhncbc/ucum-lhc that Waybill uses; the package ships no types. */
declare module '@lhncbc/ucum-lhc' {
  interface UcumUnit {
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
  export const UcumLhcUtils: { getInstance(): UcumLhcUtilities }
}

declare module '@lhncbc/ucum-lhc/source-cjs/unitString.js' {
  interface UnitString {
    /** Unit (or null), the text as understood, messages. Throws on some texts. */
    parseString(
      text: string,
      mode: 'validate',
      suggest: boolean,
    ): readonly [{ readonly csCode_?: string } | null, string, readonly string[]]
  }
  export const UnitString: { getInstance(): UnitString }
}
