% Golden values for package svd, by GNU Octave's batch svd of the explicitly
% weighted concatenation of all samples. Nothing of the package's algorithm is
% used. Run from the root of the tree (Debian: apt-get install octave):
%
%	octave-cli --norc svd/testdata/golden.m > svd/testdata/golden.txt
%
% The samples come from a generator of its own, so every Octave writes the same
% inputs. The format is one item a line, its name first, matrices by columns:
%
%	sequence NAME
%	options D BLOCK RANK ALPHA BETA CENTRE
%	block N, then N lines, one sample each
%	merge             the sequence so far is a model of its own; another begins
%	                  and in the end the two are merged
%	mass, sigma, u, moments (d <= 8), mean (if centred), explained: of the model at the end
1;

function x = draw()  % uniform in [0,1] with four decimals: exact as text
  persistent seed = 12345;
  seed = mod(16807 * seed, 2147483647);
  x = round(1e4 * seed / 2147483647) / 1e4;
endfunction

function show(name, values)
  printf("%s", name);
  printf(" %.17g", values);
  printf("\n");
endfunction

% A model as its columns, all samples seen, and the weight of each in blocks:
% 1/b when it arrives, w times that after each further block. The mass is their
% sum.
function m = fresh()
  m = struct("y", [], "w", []);
endfunction

function m = append(m, w, a, b)
  m.y = [m.y a];
  m.w = [w*m.w, ones(1, columns(a))/b];
endfunction

% The columns so weighted that the squares sum to those of one block.
function g = scatter(m, b, centre)
  share = m.w / sum(m.w);
  mu = zeros(rows(m.y), 1);
  if (centre) mu = m.y * share'; endif
  g = (m.y - mu) .* sqrt(b * share);
endfunction

function u = orient(u)
  for i = 1:columns(u)
    if (sum(u(:,i)) < 0) u(:,i) = -u(:,i); endif
  endfor
endfunction

function a = sample_block(d, n, kind)
  a = zeros(d, n);
  for j = 1:n
    for i = 1:d
      switch (kind)
        case "dense"   a(i,j) = draw();
        case "graded"  a(i,j) = round(1e4 * draw() * 2^-(i-1)) / 1e4;
        case "signed"  a(i,j) = 2*draw() - 1;
        case "loaded"  a(i,j) = .7 + .1*draw();
        case "mixed"   a(i,j) = draw() * (mod(i+j, 3) > 0);
      endswitch
    endfor
  endfor
endfunction

function golden(name, d, b, rank, alpha, beta, centre, kind, sizes, second)
  printf("sequence %s\noptions %d %d %d %.17g %.17g %d\n", name, d, b, rank, alpha, beta, centre);
  w = alpha / (alpha + beta);
  parts = {};
  for part = {sizes, second}
    if (isempty(part{1})) continue; endif
    m = fresh();
    truncated = [];  % of rank < d: U*S, by batch svd step for step
    if (! isempty(parts)) printf("merge\n"); endif
    for n = part{1}
      a = sample_block(d, n, kind);
      printf("block %d\n", n);
      for j = 1:n show("", a(:,j)); endfor
      past = w * sum(m.w);
      m = append(m, w, a, b);
      if (rank < d)
        p = past / sum(m.w);
        [u, s, v] = svd([sqrt(p)*truncated, sqrt((1-p)*b/n)*a], "econ");
        truncated = u(:,1:rank) * s(1:rank,1:rank);
      endif
    endfor
    parts{end+1} = m;
  endfor
  if (numel(parts) == 2)  % the union
    m = struct("y", [parts{1}.y parts{2}.y], "w", [parts{1}.w parts{2}.w]);
  endif
  x = scatter(m, b, centre);
  all = sum(x(:).^2);
  if (rank < d) x = truncated; endif
  [u, s, v] = svd(x, "econ");
  s = diag(s)(1:rank);
  show("mass", sum(m.w));
  show("sigma", s);
  show("u", orient(u(:,1:rank)));
  if (d <= 8) show("moments", x * x'); endif
  if (centre) show("mean", m.y * m.w' / sum(m.w)); endif
  show("explained", cumsum(s.^2) / all);
endfunction

printf("# written by golden.m; do not edit\n");
full = [10 10 10 10 10 10];
golden("one-block", 4, 10, 4, 1, 1, 0, "dense", [10], []);
golden("partial-first-block", 4, 10, 4, 1, 1, 0, "dense", [7], []);
golden("two-channels", 2, 10, 2, 1, 1, 0, "dense", full, []);
golden("default", 4, 10, 4, 1, 1, 0, "dense", full, []);
golden("partial-blocks", 4, 10, 4, 1, 1, 0, "dense", [10 3 10 5 9 10], []);
golden("long-memory", 4, 10, 4, 9, 1, 0, "dense", full, []);
golden("short-memory", 4, 10, 4, 1, 9, 0, "dense", full, []);
golden("graded", 5, 10, 5, 3, 1, 0, "graded", full, []);
golden("signed", 4, 10, 4, 3, 1, 0, "signed", full, []);
golden("mixed", 6, 10, 6, 3, 1, 0, "mixed", full, []);
golden("eight-channels", 8, 10, 8, 3, 1, 0, "dense", [10 10 4 10], []);
golden("eleven-channels", 11, 12, 11, 3, 1, 0, "dense", [12 12 12], []);
golden("twelve-channels", 12, 12, 12, 3, 1, 0, "dense", [12 12 12], []);
golden("sixteen-channels", 16, 16, 16, 3, 1, 0, "dense", [16 16 9], []);
golden("twenty-channels", 20, 20, 20, 3, 1, 0, "graded", [20 20], []);
golden("rank-one", 4, 10, 1, 1, 1, 0, "dense", full, []);
golden("rank-two", 5, 10, 2, 3, 1, 0, "dense", full, []);
golden("rank-three-of-sixteen", 16, 16, 3, 3, 1, 0, "graded", [16 16 16], []);
golden("centred", 4, 10, 4, 1, 1, 1, "dense", full, []);
golden("centred-partial", 4, 10, 4, 3, 1, 1, "dense", [10 3 10 5 1 10], []);
golden("centred-loaded", 3, 10, 3, 9, 1, 1, "loaded", full, []);
golden("centred-sixteen-channels", 16, 16, 16, 3, 1, 1, "dense", [16 16 9], []);
golden("few-blocks-of-a-long-memory", 4, 10, 4, 999, 1, 0, "dense", [10 10 1 7], []);
golden("centred-long-memory", 4, 10, 4, 999, 1, 1, "dense", [10 10 1 7], []);
golden("rank-two-partial", 5, 10, 2, 3, 1, 0, "dense", [10 3 10 1 8], []);
golden("merge", 4, 10, 4, 1, 1, 0, "dense", full, [10 10]);
golden("merge-partial", 5, 10, 5, 3, 1, 0, "graded", [10 2], [10 10 7]);
golden("merge-twelve-channels", 12, 12, 12, 3, 1, 0, "dense", [12 12], [12]);
golden("merge-centred", 4, 10, 4, 3, 1, 1, "dense", full, [10 4]);
