/** The versions of Node that the matrix runs, each the newest of its line; the README names them. */
export const NODE_VERSIONS = ['20.20.2', '22.23.3', '24.21.0'] as const
