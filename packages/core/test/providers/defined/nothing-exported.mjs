export const nothing = null
