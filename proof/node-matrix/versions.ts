/** The versions of Node in the matrix, the newest of each release line; the README names them. */
export const NODE_VERSIONS = ['20.20.2', '22.23.3', '24.21.0', '26.12.1'] as const
