import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import { load, loadAll } from 'js-yaml';
import { durationOption } from '../../../client/cli/support/command';
import { checkHandlers } from '../../../handlers';
import { read, ROOT } from '../project';
import { foreignKind } from './foreignKinds';

/** deploy/kubernetes: what the API server would refuse, and what Muster would not understand. */

interface Named {
  name: string;
}
interface Container extends Named {
  image: string;
  args: string[];
  env?: { name: string; value?: string }[];
  envFrom?: { configMapRef: Named }[];
  ports?: { name: string }[];
  volumeMounts: { name: string; mountPath: string }[];
  securityContext: object;
  resources: { requests: object; limits: { memory: string } };
  readinessProbe?: { httpGet: { path: string; port: string } };
  livenessProbe?: { httpGet: { path: string; port: string } };
}
interface Pod {
  terminationGracePeriodSeconds?: number;
  containers: [Container];
  volumes: (Named & { secret?: { secretName: string }; configMap?: Named })[];
  securityContext: object;
  automountServiceAccountToken: boolean;
}
interface Manifest {
  kind: string;
  metadata: Named;
  spec?: { template?: { metadata: { labels: Record<string, string> }; spec: Pod }; selector?: unknown };
}
interface Example {
  configMapGenerator: (Named & { literals?: string[]; files?: string[] })[];
  secretGenerator: (Named & { literals: string[] })[];
  images: { name: string; newTag: string }[];
}

const FOLDER = 'deploy/kubernetes';
const filesOf = (folder: string): string[] =>
  readdirSync(path.join(ROOT, FOLDER, folder))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => `${FOLDER}/${folder}/${file}`);
const base = load(read(`${FOLDER}/base/kustomization.yaml`)) as { resources: string[] };
const example = load(read(`${FOLDER}/example/kustomization.yaml`)) as Example;
const manifests = [...filesOf('base'), ...filesOf('example')]
  .filter((file) => !file.endsWith('kustomization.yaml'))
  .flatMap((file) => loadAll(read(file)) as Manifest[]);
const named = manifests.map((one): [string, Manifest] => [`${one.kind} ${one.metadata.name}`, one]);
const pods = named.flatMap(([name, { spec }]): [string, Pod][] =>
  spec?.template === undefined ? [] : [[name, spec.template.spec]],
);

describe('the API server', () => {
  const schema = JSON.parse(read('test/project/deployment/kubernetes.schema.json')) as {
    kinds: Record<string, object>;
    $defs: object;
  };
  const validator = new Ajv2020({ strict: false, allErrors: true });
  const checks = new Map(
    Object.entries(schema.kinds).map(([kind, of]) => [kind, validator.compile({ ...of, $defs: schema.$defs })]),
  );
  const problems = (manifest: Manifest): unknown[] => {
    const check = checks.get(manifest.kind)!;
    return check(manifest) ? [] : check.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };

  test.each(named)('%s: is of its schema', (_name, manifest) => {
    expect(Object.keys(schema.kinds)).toContain(manifest.kind);
    expect(problems(manifest)).toEqual([]);
  });

  test('refuses a misspelled field, and a value of another type', () => {
    const [, worker] = named.find(([name]) => name === 'Deployment muster-worker')!;
    const spec = worker.spec!;
    expect(problems({ ...worker, spec: { ...spec, replica: 2 } as never })).not.toEqual([]);
    expect(problems({ ...worker, spec: { ...spec, replicas: '2' } as never })).not.toEqual([]);
  });

  test('gets every file of the base', () => {
    const files = filesOf('base').map((file) => path.basename(file));
    expect(files.filter((file) => file !== 'kustomization.yaml').sort()).toEqual([...base.resources].sort());
  });
});

describe('KEDA and kustomize', () => {
  const files = ['base', 'example', 'autoscaling'].flatMap(filesOf);
  const foreign = files.filter((file) => /kustomization\.yaml$|autoscaling/.test(file));

  test.each(foreign)('%s: is of its schema, and what it names is there', (file) => {
    const parsed = foreignKind.safeParse(load(read(file)));
    expect(parsed.error?.issues ?? []).toEqual([]);
    const { resources = [], components = [] } = parsed.data as { resources?: string[]; components?: string[] };
    const missing = [...resources, ...components].filter(
      (one) => !existsSync(path.join(ROOT, path.dirname(file), one)),
    );
    expect(missing).toEqual([]);
  });

  test('refuse a misspelled field, and a number where a text must be', () => {
    expect(foreign).toHaveLength(4);
    const scaled = load(read(`${FOLDER}/autoscaling/scaled-object.yaml`)) as { spec: Record<string, unknown> };
    const withSpec = (more: object): boolean =>
      foreignKind.safeParse({ ...scaled, spec: { ...scaled.spec, ...more } }).success;
    expect(withSpec({})).toBe(true);
    expect(withSpec({ maxReplicas: 3 })).toBe(false);
    expect(withSpec({ minReplicaCount: 30 })).toBe(false);
    const [trigger] = scaled.spec['triggers'] as { metadata: object }[];
    expect(withSpec({ triggers: [{ ...trigger, metadata: { ...trigger!.metadata, targetValue: 10 } }] })).toBe(false);
    expect(foreignKind.safeParse({ ...base, resource: [] }).success).toBe(false);
  });
});

describe('a pod', () => {
  test.each(pods)('%s: is not root, cannot write to its image, and has limits', (_name, pod) => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod.automountServiceAccountToken).toBe(false);
    for (const container of pod.containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources.limits.memory).toMatch(/^\d+[MG]i$/);
    }
  });

  test.each(pods)('%s: mounts what is there, and its secrets are files of mounted secrets', (_name, pod) => {
    const [container] = pod.containers;
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    const given = new Map(example.secretGenerator.map(({ name, literals }) => [name, literals]));
    for (const { name, value = '' } of container.env ?? []) {
      if (/URL|SECRET|KEY|PASSWORD/.test(name)) expect(name).toMatch(/_FILE$/);
      if (!name.endsWith('_FILE')) continue;
      const mount = container.volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`))!;
      const { secret } = pod.volumes.find((volume) => volume.name === mount.name)!;
      const key = path.basename(value);
      expect(given.get(secret!.secretName)?.some((literal) => literal.startsWith(`${key}=`))).toBe(true);
    }
    const maps = example.configMapGenerator.map(({ name }) => name);
    for (const { configMapRef } of container.envFrom ?? []) expect(maps).toContain(configMapRef.name);
    for (const { configMap } of pod.volumes) if (configMap !== undefined) expect(maps).toContain(configMap.name);
  });

  test('has more time to stop than a worker takes to drain', () => {
    const [, worker] = pods.find(([name]) => name === 'Deployment muster-worker')!;
    const args = worker.containers[0].args;
    const graceMs = durationOption(args[args.indexOf('--shutdown-grace') + 1]!);
    expect(worker.terminationGracePeriodSeconds! * 1_000).toBeGreaterThanOrEqual(graceMs + 15_000);
  });
});

describe('Muster', () => {
  const cli = read('docs/reference/cli.md');
  const settings = read('docs/settings.md');

  test.each(pods)('%s: knows each command, option and variable', (_name, pod) => {
    const [{ args, env = [] }] = pod.containers;
    const section = cli.split(`\n## muster ${args[0]}\n`)[1]?.split('\n## ')[0];
    expect(section).toBeDefined();
    for (const option of args.filter((arg) => arg.startsWith('--'))) expect(section).toContain(`${option} `);
    const maps = example.configMapGenerator.flatMap(({ literals = [] }) => literals.map((one) => one.split('=')[0]!));
    for (const name of [...env.map((one) => one.name), ...maps])
      if (name !== 'NODE_OPTIONS' && name !== 'TEMPORAL_ADDRESS' && name !== 'TEMPORAL_NAMESPACE')
        expect(settings).toContain(`\`${name}\``);
      else if (name.startsWith('TEMPORAL_')) expect(cli).toContain(name);
  });

  test('has the paths that the probes ask, at the ports that they name', () => {
    const paths = new Map([
      ['Deployment muster-worker', ['/healthz', '/metrics', 'metrics']],
      ['Deployment muster-api', ['/health/ready', '/health/live', 'http']],
    ]);
    for (const [name, [ready, live, port]] of paths) {
      const [container] = pods.find(([one]) => one === name)![1].containers;
      expect(container.readinessProbe?.httpGet).toEqual({ path: ready, port });
      expect(container.livenessProbe?.httpGet).toEqual({ path: live, port });
      expect(container.ports?.map((one) => one.name)).toEqual([port]);
    }
    const http = read('docs/reference/http.md');
    for (const one of ['/health/ready', '/health/live']) expect(http).toContain(one);
  });

  test('takes the example config, whose handler is the one that is scaled by', () => {
    const config = JSON.parse(read(`${FOLDER}/example/muster.config.json`)) as { handlers: unknown[] };
    expect(checkHandlers(config.handlers, { env: {} }).map(({ name }) => name)).toEqual(['orders']);
    const scaled = load(read(`${FOLDER}/autoscaling/scaled-object.yaml`)) as {
      spec: { scaleTargetRef: Named; triggers: { metadata: { url: string; valueLocation: string } }[] };
    };
    const [{ metadata }] = scaled.spec.triggers as [{ metadata: { url: string; valueLocation: string } }];
    const [, metric, handler] = /^(\w+)\{handler="(\w+)"\}$/.exec(metadata.valueLocation)!;
    expect(handler).toBe('orders');
    expect(read('docs/reference/metrics.md')).toMatch(new RegExp(`\`${metric}\` +\\| gauge +\\| \`handler\``));
    const service = new URL(metadata.url);
    expect(named.map(([name]) => name)).toContain(`Service ${service.hostname.split('.')[0]}`);
    expect(named.map(([name]) => name)).toContain(`Deployment ${scaled.spec.scaleTargetRef.name}`);
    expect(service.pathname).toBe('/metrics');
  });
});
