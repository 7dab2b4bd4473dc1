// What the package's files are when they are imported with { type: 'file' }: a path to read them at.
declare module 'swagger-ui-dist/*' {
  const path: string
  export default path
}
