/** File name and Bun target of each executable of a release, by platform. */
export const delivered = {
  'linux-x64': { file: 'anteroom-linux-x64', target: 'bun-linux-x64-baseline' },
  'linux-arm64': { file: 'anteroom-linux-arm64', target: 'bun-linux-arm64' },
  'darwin-arm64': { file: 'anteroom-macos-arm64', target: 'bun-darwin-arm64' },
  'darwin-x64': { file: 'anteroom-macos-x64', target: 'bun-darwin-x64' },
  'win32-x64': { file: 'anteroom-windows-x64.exe', target: 'bun-windows-x64' },
} as const

/** Node's `${process.platform}-${process.arch}`. */
export type DeliveredPlatform = keyof typeof delivered

export const deliveredPlatforms = Object.keys(delivered) as DeliveredPlatform[]
