/** The `code` of the error of a connector that refuses an address. */
export const FORBIDDEN = 'ERR_TARGET_FORBIDDEN'
